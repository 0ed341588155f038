// The breaker: when nobody is sent to a peer any more, and how it is found out that the peer is back.
import { describe, expect, test } from 'vitest'
import { Breaker } from '../../src/net/breaker.ts'
import { testClock } from '../support/clock.ts'
import { refusalOf } from '../support/thrown.ts'

const UNAVAILABLE = new Error('away')
const isUnavailable = (error: unknown) => error === UNAVAILABLE

function setUp() {
  const clock = testClock()
  const breaker = new Breaker('the peer', clock)
  const state = { error: undefined as Error | undefined, calls: 0 }
  const call = () =>
    breaker.run(async () => {
      state.calls++
      if (state.error) throw state.error
      return 'done'
    }, isUnavailable)
  const fail = async (times: number) => {
    state.error = UNAVAILABLE
    for (let i = 0; i < times; i++) await expect(call()).rejects.toBe(UNAVAILABLE)
  }
  return { clock, breaker, state, call, fail }
}

describe('a circuit breaker', () => {
  test('sends calls until five in a row have failed, and then refuses calls with 503', async () => {
    const { breaker, state, call, fail } = setUp()
    await fail(4)
    expect(breaker.isOpen).toBe(false)
    await fail(1)
    expect(breaker.isOpen).toBe(true)
    const { status, reason, more } = await refusalOf(call)
    expect([status, reason, more.headers]).toEqual([503, 'breaker_open', { 'retry-after': '1' }])
    expect(state.calls).toBe(5)
  })

  test('does not count a failure of the caller, and resets its count after one', async () => {
    const { breaker, state, call, fail } = setUp()
    await fail(4)
    state.error = new Error('malformed')
    await expect(call()).rejects.toThrow('malformed')
    await fail(4)
    expect(breaker.isOpen).toBe(false)
  })

  test('lets one call through after 1, 2, 4, 8 and again 8 seconds, and states how long to wait', async () => {
    const { clock, state, call, fail } = setUp()
    await fail(5)
    for (const pause of [1, 2, 4, 8, 8]) {
      clock.advance(pause - 1)
      const before = state.calls
      expect((await refusalOf(call)).more.headers, `before ${pause} s`).toEqual({ 'retry-after': '1' })
      expect(state.calls).toBe(before)
      clock.advance(1)
      await fail(1)
    }
  })

  test('does not wait longer for calls that were in flight when it opened', async () => {
    const { clock, state, call, fail } = setUp()
    state.error = UNAVAILABLE
    await Promise.allSettled(Array.from({ length: 20 }, call))
    expect(state.calls).toBe(20)
    clock.advance(1)
    await fail(1)
    expect(state.calls).toBe(21)
  })

  test('lets one call through as a probe, and refuses other calls until the probe ends', async () => {
    const { clock, breaker, fail } = setUp()
    await fail(5)
    clock.advance(1)
    let succeed = () => {}
    const trying = breaker.run(() => new Promise<void>((resolve) => (succeed = resolve)), isUnavailable)
    expect((await refusalOf(() => breaker.run(async () => {}, isUnavailable))).reason).toBe('breaker_open')
    succeed()
    await trying
    expect(breaker.isOpen).toBe(false)
  })

  test('lets all calls through again after one success', async () => {
    const { clock, state, call, fail } = setUp()
    await fail(5)
    clock.advance(1)
    state.error = undefined
    expect(await call()).toBe('done')
    await fail(4)
    state.error = undefined
    expect(await call()).toBe('done')
  })
})
