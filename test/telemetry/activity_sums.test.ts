// Sums by minute in memory, and that they and the failures are bounded.
import { expect, test } from 'vitest'
import { ActivitySums, busiest } from '../../src/telemetry/activity_sums.ts'
import { type ClientFailure, FailureLog, shownSent } from '../../src/telemetry/client_failures.ts'

const ONE = { requests: 1, refused: 0, limited: 0, issued: 1 }

test('requests are summed by minute, in total and by name', () => {
  const sums = new ActivitySums()
  sums.record(120, { client: 'a', resource: 'r' }, ONE)
  sums.record(179, { client: 'a', user: 'u' }, ONE)
  sums.record(180, { client: '' }, ONE)
  expect(sums.take(200)).toEqual([
    {
      at: 120,
      sums: [
        { kind: 'all', name: '', ...ONE, requests: 2, issued: 2 },
        { kind: 'client', name: 'a', ...ONE, requests: 2, issued: 2 },
        { kind: 'resource', name: 'r', ...ONE },
        { kind: 'user', name: 'u', ...ONE },
      ],
    },
  ])
  expect(sums.take(200)).toEqual([])
  expect(sums.look()).toHaveLength(1)
  expect(sums.take(200, true)).toMatchObject([{ at: 180, sums: [{ kind: 'all', requests: 1 }] }])
})

test('many names are one sum, and minutes that are not taken are dropped', () => {
  const sums = new ActivitySums()
  for (let i = 0; i < 2500; i++) sums.record(60, { client: `c${i}` }, ONE)
  sums.record(60, { client: 'x'.repeat(5000) }, ONE)
  const clients = sums.look().flatMap((minute) => minute.sums.filter(({ kind }) => kind === 'client'))
  expect(clients).toHaveLength(2001)
  expect(clients.find(({ name }) => name === '')).toMatchObject({ requests: 501 })
  // Long names leave less room: the characters of a minute are bounded.
  for (let i = 0; i < 300; i++) sums.record(120, { client: `${i}${'y'.repeat(2000)}` }, ONE)
  const [long] = sums.look().filter(({ at }) => at === 120)
  expect(long?.sums.reduce((length, { name }) => length + name.length, 0)).toBeLessThanOrEqual(256 * 1024)
  for (let minute = 2; minute < 50; minute++) sums.record(minute * 60, {}, ONE)
  expect(sums.look().map(({ at }) => at / 60)).toEqual([45, 46, 47, 48, 49])
  expect(busiest(clients, 1)).toMatchObject([{ name: 'c0' }, { name: '', requests: 2500 }])
})

test('equal failures are one, and at most 500 wait', () => {
  const log = new FailureLog()
  const failure = (more: Partial<ClientFailure>): ClientFailure => ({
    ...{ client_id: 'c', step: 'token', status: 400, error: 'invalid_grant', reason: 'x', detail: '' },
    ...{ address: '', request_id: 'r', count: 1, first_at: 1, last_at: 1 },
    ...more,
  })
  log.add(failure({}))
  log.add(failure({ request_id: 's', last_at: 5, first_at: 5 }))
  for (let i = 0; i < 100; i++) log.add(failure({ client_id: 'busy', sent: `https://a.example/${i}` }))
  for (let i = 0; i < 600; i++) log.add(failure({ client_id: `c${i}` }))
  const taken = log.take()
  expect(taken[0]).toEqual(failure({ request_id: 's', last_at: 5, count: 2 }))
  expect(taken).toHaveLength(500)
  expect(taken.filter(({ client_id }) => client_id === 'busy')).toHaveLength(20)
  expect(log.take()).toEqual([])
})

test('a value that was sent is shown without secrets and hidden characters, and is bounded', () => {
  const secret = `rt_${'A1b2'.repeat(16)}`
  const { sent, allowed } = shownSent({
    parameter: 'redirect_uri',
    value: `https://a.example/cb?token=${secret}&x=\u0000\u200b${'y'.repeat(3000)}`,
    allowed: Array.from({ length: 50 }, (_, i) => `https://a.example/${i}`),
  })
  expect(sent).toMatch(/^https:\/\/a\.example\/cb\?token=\[redacted\]&x=\\u\{0\}\\u\{200b\}y+\.\.\.$/)
  expect(sent.length).toBeLessThan(1100)
  expect(allowed).toHaveLength(20)
})
