// Both loops against servers with known delay and maximum rate, in virtual time, so that the load of the machine does not matter.
import { describe, expect, test } from 'vitest'
import { closedLoop, newTally, openLoop } from '../../bench/load/loops.ts'
import { sender, server, VirtualTime } from './virtual_time.ts'

describe('the closed loop', () => {
  test('the closed loop finds the maximum rate of a server, and the latency at that rate', async () => {
    const [time, tally] = [new VirtualTime(), newTally()]
    const answer = server(time, 5)
    await time.run(closedLoop(sender(4, answer), 4, time, tally))
    expect(tally.latency.count / tally.seconds).toBeCloseTo(200, -1)
    // Four connections share one server: each waits for three others.
    expect(tally.latency.quantile(0.5)).toBeCloseTo(20, 0)
    expect(tally.errors).toBe(0)
  })

  test('the closed loop hides a stall: only the requests in flight show it', async () => {
    const [time, tally] = [new VirtualTime(), newTally()]
    await time.run(closedLoop(sender(4, server(time, 5, { from: 1000, until: 2000 })), 4, time, tally))
    expect(tally.latency.quantile(0.99)).toBeLessThan(30)
    expect(tally.latency.max).toBeGreaterThan(1000)
  })

  test('the closed loop counts failures, and reports the first one', async () => {
    const [time, tally] = [new VirtualTime(), newTally()]
    let sent = 0
    const fail = async () => {
      await time.sleep(10)
      if (++sent % 2) throw new Error(`refused ${sent}`)
    }
    await time.run(closedLoop(sender(1, fail), 1, time, tally))
    expect([tally.latency.count, tally.errors, tally.firstError]).toEqual([50, 50, 'refused 1'])
  })

  test('the closed loop ends on all connections when one has no requests left', async () => {
    const [time, tally] = [new VirtualTime(), newTally()]
    let left = 10
    await time.run(
      closedLoop(
        sender(2, () => (left-- > 0 ? time.sleep(5) : undefined)),
        60,
        time,
        tally,
      ),
    )
    expect(tally.latency.count).toBe(10)
    expect(tally.seconds).toBeLessThan(0.1)
  })
})

describe('the open loop', () => {
  test('the open loop sends at its rate, independent of the server', async () => {
    const [time, tally] = [new VirtualTime(), newTally()]
    await time.run(openLoop(sender(8, server(time, 1)), { rate: 300, seconds: 2 }, time, tally))
    expect([tally.due, tally.latency.count, tally.errors]).toEqual([600, 600, 0])
    expect(tally.seconds).toBeCloseTo(2, 1)
    expect(tally.latency.quantile(0.99)).toBeLessThan(5)
  })

  test('the open loop shows the stall that the closed loop hides: requests that arrive meanwhile wait', async () => {
    const [time, tally] = [new VirtualTime(), newTally()]
    const stalls = server(time, 5, { from: 1000, until: 2000 })
    // Half of the maximum rate of the server, as the closed loop above found it.
    await time.run(openLoop(sender(4, stalls), { rate: 100, seconds: 4 }, time, tally))
    expect(tally.latency.count).toBe(400)
    // A quarter arrived during the stall, and as many again while the queue was drained.
    expect(tally.latency.quantile(0.99)).toBeGreaterThan(900)
    expect(tally.latency.quantile(0.75)).toBeGreaterThan(200)
    expect(tally.latency.quantile(0.4)).toBeLessThan(10)
  })

  test('the open loop measures a growing queue above the maximum rate, and abandons requests that are never sent', async () => {
    const [time, tally] = [new VirtualTime(), newTally()]
    // Ten seconds at three times the maximum rate of the server.
    await time.run(openLoop(sender(4, server(time, 5)), { rate: 600, seconds: 10 }, time, tally))
    expect(tally.latency.count + tally.errors).toBe(6000)
    expect(tally.latency.count / tally.seconds).toBeLessThan(210)
    expect(tally.errors).toBeGreaterThan(2000)
    expect(tally.firstError).toContain('no free connection')
    expect(tally.latency.quantile(0.5)).toBeGreaterThan(1000)
  })

  test('requests for which no input was prepared are not counted', async () => {
    const [time, tally] = [new VirtualTime(), newTally()]
    let left = 50
    const send = () => (left-- > 0 ? time.sleep(1) : undefined)
    await time.run(openLoop(sender(4, send), { rate: 100, seconds: 60 }, time, tally))
    expect([tally.due, tally.latency.count, tally.errors]).toEqual([50, 50, 0])
    expect(tally.seconds).toBeLessThan(1)
  })
})
