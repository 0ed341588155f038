// The log lines of refused requests, and their limits under a flood.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Answered, openRequestLog } from '../../src/http/request_log.ts'
import { OAuthError, overloaded, unavailable } from '../../src/lib/error.ts'
import { recordingLog } from '../support/log.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const LEVELS: Record<number, string> = { 20: 'debug', 30: 'info', 40: 'warn', 50: 'error' }

function opened(threads = 1, level = 'info') {
  const { log, lines } = recordingLog(level)
  const requests = openRequestLog(log, threads)
  const answer = (error: OAuthError | undefined, more: Partial<Answered> = {}) =>
    requests.answered({
      request_id: 'r',
      trace_id: undefined,
      method: 'POST',
      path: '/oauth/token',
      status: error?.status ?? 200,
      ms: 1,
      remote: '192.0.2.1',
      client_id: 'c',
      error,
      ...more,
    })
  const shown = () =>
    lines
      .splice(0)
      .map(({ time: _t, pid: _p, hostname: _h, level, ...rest }) => ({ level: LEVELS[Number(level)], ...rest }))
  return { answer, shown, requests }
}
const wrong = new OAuthError('invalid_client', 'client authentication failed', { reason: 'wrong_secret' })

test('a refusal is one line at info with client, address, route and reason', () => {
  const { answer, shown } = opened()
  answer(wrong)
  expect(shown()).toEqual([
    {
      level: 'info',
      msg: 'request refused',
      request_id: 'r',
      method: 'POST',
      path: '/oauth/token',
      status: 401,
      ms: 1,
      remote: '192.0.2.1',
      client_id: 'c',
      error: 'invalid_client',
      reason: 'wrong_secret',
    },
  ])
})

test('an answered request has no line at info, and one at debug', () => {
  const { answer, shown, requests } = opened()
  expect(requests.hasAll).toBe(false)
  answer(undefined)
  expect(shown()).toEqual([])
  const all = opened(1, 'debug')
  expect(all.requests.hasAll).toBe(true)
  all.answer(undefined)
  expect(all.shown()).toMatchObject([{ level: 'debug', msg: 'request' }])
})

test('a long client id is truncated', () => {
  const { answer, shown } = opened()
  answer(wrong, { client_id: 'x'.repeat(10_000) })
  expect(String((shown()[0] as Record<string, unknown>)['client_id']).length).toBe(256)
})

test('beyond 50 lines a second, one line a second has the number of omitted lines', () => {
  const { answer, shown } = opened()
  for (let i = 0; i < 120; i++) answer(wrong)
  expect(shown()).toHaveLength(50)
  vi.advanceTimersByTime(1000)
  expect(shown()).toMatchObject([{ level: 'info', left_out: 70 }])
  for (let i = 0; i < 60; i++) answer(wrong)
  expect(shown()).toHaveLength(50)
  vi.advanceTimersByTime(1000)
  expect(shown()).toMatchObject([{ left_out: 10 }])
  vi.advanceTimersByTime(10_000)
  expect(shown()).toEqual([])
})

test('threads share the lines of a second', () => {
  const { answer, shown } = opened(5)
  for (let i = 0; i < 50; i++) answer(wrong)
  expect(shown()).toHaveLength(10)
})

test.each([
  ['a limit', new OAuthError('slow_down', 'too many requests', { reason: 'rate_limited' }), 'info', 'rate_limited'],
  ['no room', overloaded('front'), 'warn', 'front_full'],
])('what meets %s is counted and told once in ten seconds', (_what, error, level, reason) => {
  const { answer, shown } = opened()
  for (let i = 0; i < 400; i++) answer(error)
  expect(shown()).toMatchObject([{ level, reason, requests: 1 }])
  vi.advanceTimersByTime(10_000)
  expect(shown()).toMatchObject([{ level, reason, requests: 399 }])
  answer(error)
  expect(shown()).toEqual([])
  vi.advanceTimersByTime(10_000)
  expect(shown()).toMatchObject([{ requests: 1 }])
  vi.advanceTimersByTime(10_000)
  answer(error)
  expect(shown()).toMatchObject([{ requests: 1 }])
})

test('an unavailable part is logged as one error in ten seconds with its cause, and a line at info for each request', () => {
  const { answer, shown } = opened()
  const storeUnavailable = unavailable('the storage is not available', {
    reason: 'storage_unavailable',
    cause: new Error('database or disk is full'),
  })
  for (let i = 0; i < 3; i++) answer(storeUnavailable)
  expect(shown()).toMatchObject([
    { level: 'error', reason: 'storage_unavailable', err: { message: 'database or disk is full' } },
    { level: 'info', reason: 'storage_unavailable', request_id: 'r' },
    { level: 'info' },
  ])
  answer(unavailable('the secret store is unavailable', { reason: 'transit_away' }))
  vi.advanceTimersByTime(10_000)
  answer(storeUnavailable)
  expect(shown()).toMatchObject([
    { level: 'error', reason: 'transit_away' },
    { level: 'error', reason: 'storage_unavailable' },
  ])
})

test('an internal error is always logged as an error', () => {
  const { answer, shown } = opened()
  for (let i = 0; i < 2; i++) answer(new OAuthError('server_error', 'internal error', { cause: new Error('why') }))
  expect(shown()).toMatchObject([
    { level: 'error', err: { message: 'why' } },
    { level: 'error', err: { message: 'why' } },
  ])
})

test('a refused client that repeats its requests has one line, and then the number of its requests', () => {
  const { answer, shown } = opened()
  const suspended = new OAuthError('invalid_client', 'refused', { reason: 'client_suspended', uncounted: true })
  for (let i = 0; i < 120; i++) answer(suspended, { request_id: `r${i}` })
  answer(suspended, { client_id: 'another' })
  const line = { level: 'info', msg: 'request refused', reason: 'client_suspended' }
  expect(shown()).toMatchObject([
    { ...line, request_id: 'r0', client_id: 'c' },
    { ...line, client_id: 'another' },
  ])
  vi.advanceTimersByTime(10_000)
  expect(shown()).toEqual([
    {
      level: 'info',
      msg: 'requests of a client were refused',
      reason: 'client_suspended',
      client_id: 'c',
      requests: 119,
    },
  ])
})

test('refusals of very many clients are counted for a thousand of them, and an overload is still reported', () => {
  const { answer, shown } = opened()
  const suspended = new OAuthError('invalid_client', 'no', { reason: 'client_suspended', uncounted: true })
  for (let i = 0; i < 1500; i++) answer(suspended, { client_id: `c${i}` })
  vi.advanceTimersByTime(0)
  answer(overloaded('outbound', 'too many'))
  expect(shown().filter(({ level }) => level === 'warn').length).toBe(1)
  for (let i = 0; i < 1500; i++) answer(suspended, { client_id: `c${i}` })
  vi.advanceTimersByTime(10_000)
  expect(shown().filter((line) => 'requests' in line).length).toBe(1000)
})
