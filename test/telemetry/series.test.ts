// The ring of the last hour.
import { expect, test } from 'vitest'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { PERIOD, Series } from '../../src/telemetry/series.ts'

function open() {
  const metrics = new Metrics()
  const state = { now: 1_000_000, waiting: 0 }
  const series = new Series({ metrics, queues: () => ({ store: state.waiting }), clock: { now: () => state.now } })
  return { metrics, state, series }
}

test('a period contains only the events of that period', () => {
  const { metrics, state, series } = open()
  metrics.count('core_tokens_issued_total', { grant_type: 'refresh_token' }, 3)
  metrics.count('ext_refusals_total', { error: 'invalid_grant', reason: 'code_used' })
  metrics.count('ext_refusals_total', { error: 'access_denied', reason: 'code_used' })
  series.answered(0.002)
  expect(series.points()).toEqual([])
  state.now += PERIOD
  series.sample()
  metrics.count('core_tokens_issued_total', { grant_type: 'refresh_token' })
  state.now += PERIOD
  series.sample()
  expect(series.points()).toEqual([
    {
      at: 1_000_000,
      tokens: { refresh_token: 3 },
      answers: 1,
      p50: expect.closeTo(0.002, 4),
      p99: expect.closeTo(0.002, 4),
      errors: { code_used: 2 },
      queues: { store: 0 },
    },
    { at: 1_000_010, tokens: { refresh_token: 1 }, answers: 0, errors: {}, queues: { store: 0 } },
  ])
})

test('the value of a queue in a period is its maximum', () => {
  const { state, series } = open()
  for (const waiting of [1, 7, 2]) {
    state.waiting = waiting
    series.sample()
  }
  state.waiting = 0
  state.now += PERIOD
  series.sample()
  series.sample()
  expect(series.points().map(({ queues }) => queues)).toEqual([{ store: 7 }])
})

test('one hour is kept, with the twenty most frequent reasons', () => {
  const { metrics, state, series } = open()
  for (let i = 1; i <= 30; i++) metrics.count('ext_refusals_total', { error: 'e', reason: `r${i}` }, i)
  for (let i = 0; i < 400; i++) {
    state.now += PERIOD
    series.sample()
    if (i > 0) continue
    const errors = series.points()[0]?.errors ?? {}
    expect(Object.keys(errors)).toHaveLength(20)
    expect(errors).toMatchObject({ r30: 30, r11: 11 })
  }
  expect(series.points()).toHaveLength(360)
  expect(series.points(state.now - 2 * PERIOD)).toHaveLength(2)
})
