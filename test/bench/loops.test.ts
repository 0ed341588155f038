// Both loops against servers whose delay and ceiling are known, in virtual time: no machine is too busy for it.
import { describe, expect, test } from 'vitest'
import { closedLoop, newTally, openLoop } from '../../bench/load/loops.ts'
import { sender, server, VirtualTime } from './virtual_time.ts'

describe('the closed loop', () => {
  test('finds the ceiling of a server and what its connections wait for there', async () => {
    const [time, tally] = [new VirtualTime(), newTally()]
    const answer = server(time, 5)
    await time.run(closedLoop(sender(4, answer), 4, time, tally))
    expect(tally.latency.count / tally.seconds).toBeCloseTo(200, -1)
    // Four connections share one server: each waits for three others.
    expect(tally.latency.quantile(0.5)).toBeCloseTo(20, 0)
    expect(tally.errors).toBe(0)
  })

  test('hides a stall: only the requests that were on their way see it', async () => {
    const [time, tally] = [new VirtualTime(), newTally()]
    await time.run(closedLoop(sender(4, server(time, 5, { from: 1000, until: 2000 })), 4, time, tally))
    expect(tally.latency.quantile(0.99)).toBeLessThan(30)
    expect(tally.latency.max).toBeGreaterThan(1000)
  })

  test('counts what fails, and says how the first one did', async () => {
    const [time, tally] = [new VirtualTime(), newTally()]
    let sent = 0
    const fail = async () => {
      await time.sleep(10)
      if (++sent % 2) throw new Error(`refused ${sent}`)
    }
    await time.run(closedLoop(sender(1, fail), 1, time, tally))
    expect([tally.latency.count, tally.errors, tally.firstError]).toEqual([50, 50, 'refused 1'])
  })

  test('ends on all connections when one has nothing left', async () => {
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
  test('sends at the rate it was told, whatever the server does', async () => {
    const [time, tally] = [new VirtualTime(), newTally()]
    await time.run(openLoop(sender(8, server(time, 1)), { rate: 300, seconds: 2 }, time, tally))
    expect([tally.due, tally.latency.count, tally.errors]).toEqual([600, 600, 0])
    expect(tally.seconds).toBeCloseTo(2, 1)
    expect(tally.latency.quantile(0.99)).toBeLessThan(5)
  })

  test('sees the stall that the closed loop hides: everybody who came meanwhile waited', async () => {
    const [time, tally] = [new VirtualTime(), newTally()]
    const stalls = server(time, 5, { from: 1000, until: 2000 })
    // Half of what the server can do, as the closed loop above found it.
    await time.run(openLoop(sender(4, stalls), { rate: 100, seconds: 4 }, time, tally))
    expect(tally.latency.count).toBe(400)
    // A quarter came during the stall, and as many again while the queue was worked off.
    expect(tally.latency.quantile(0.99)).toBeGreaterThan(900)
    expect(tally.latency.quantile(0.75)).toBeGreaterThan(200)
    expect(tally.latency.quantile(0.4)).toBeLessThan(10)
  })

  test('sees a queue that grows above the ceiling, and gives up on what is never taken', async () => {
    const [time, tally] = [new VirtualTime(), newTally()]
    // Ten seconds at three times what the server can do.
    await time.run(openLoop(sender(4, server(time, 5)), { rate: 600, seconds: 10 }, time, tally))
    expect(tally.latency.count + tally.errors).toBe(6000)
    expect(tally.latency.count / tally.seconds).toBeLessThan(210)
    expect(tally.errors).toBeGreaterThan(2000)
    expect(tally.firstError).toContain('no free connection')
    expect(tally.latency.quantile(0.5)).toBeGreaterThan(1000)
  })

  test('does not count what nothing was prepared for', async () => {
    const [time, tally] = [new VirtualTime(), newTally()]
    let left = 50
    const send = () => (left-- > 0 ? time.sleep(1) : undefined)
    await time.run(openLoop(sender(4, send), { rate: 100, seconds: 60 }, time, tally))
    expect([tally.due, tally.latency.count, tally.errors]).toEqual([50, 50, 0])
    expect(tally.seconds).toBeLessThan(1)
  })
})
