// Connection trails: what is kept of the way of a client, and that it is bounded.
import { describe, expect, test, vi } from 'vitest'
import { ActivityLog, lastMinutes, mergeActivity, type StepOutcome } from '../../src/telemetry/client_activity.ts'

const passage = (more: Partial<StepOutcome> = {}): Omit<StepOutcome, 'count'> => ({
  step: 'token',
  at: 1000,
  status: 200,
  request_id: 'r1',
  ...more,
})
const refused = (reason: string, more: Partial<StepOutcome> = {}) =>
  passage({ status: 400, error: 'invalid_grant', detail: 'the code has expired', reason, ...more })

describe('the activity of a client', () => {
  test('contains the steps of one client at one address, in order', () => {
    const trails = new ActivityLog()
    trails.record('c', '192.0.2.1', passage({ step: 'authorize', status: 303 }))
    trails.record('c', '192.0.2.1', refused('expired_code', { at: 1005, request_id: 'r2' }))
    expect(trails.list()).toEqual([
      {
        client_id: 'c',
        address: '192.0.2.1',
        began_at: 1000,
        steps: [
          { step: 'authorize', at: 1000, status: 303, request_id: 'r1', count: 1 },
          {
            step: 'token',
            at: 1005,
            status: 400,
            error: 'invalid_grant',
            detail: 'the code has expired',
            reason: 'expired_code',
            request_id: 'r2',
            count: 1,
          },
        ],
        minutes: [{ minute: 16, requests: 2, refused: 1, limited: 0, issued: 0 }],
      },
    ])
  })

  test('has the requests of the last five minutes and how many were refused, also when later ones succeed', () => {
    const trails = new ActivityLog()
    const at = (minute: number) => ({ at: minute * 60 })
    for (let minute = 1; minute <= 7; minute++) {
      trails.record('c', '192.0.2.1', refused('rate_limited', { ...at(minute), status: 429 }))
      trails.record('c', '192.0.2.1', passage(at(minute)))
    }
    const [trail] = trails.list()
    if (!trail) throw new Error('no activity')
    expect(lastMinutes(trail, 7 * 60 + 59)).toEqual({ requests: 10, refused: 5, limited: 5, issued: 5 })
    expect(lastMinutes(trail, 9 * 60)).toEqual({ requests: 6, refused: 3, limited: 3, issued: 3 })
    expect(lastMinutes(trail, 20 * 60)).toEqual({ requests: 0, refused: 0, limited: 0, issued: 0 })
    const [merged] = mergeActivity([
      { activity: trail, moments: [] },
      { activity: structuredClone(trail), moments: [] },
    ])
    expect(merged && lastMinutes(merged, 7 * 60)).toEqual({ requests: 20, refused: 10, limited: 10, issued: 10 })
  })

  test('does not show a secret that a client sent as its id or in a parameter', () => {
    const trails = new ActivityLog()
    const secret = `rt_${'A1b2'.repeat(16)}`
    trails.record(`http://localhost/x?token=${secret}`, '192.0.2.1', refused('x', { detail: `not allowed: ${secret}` }))
    expect(JSON.stringify(trails.list())).not.toContain(secret)
    expect(trails.list()[0]?.client_id).toBe('http://localhost/x?token=[redacted]')
  })

  test('is separate for another client, another address, and requests without a client', () => {
    const trails = new ActivityLog()
    trails.record('a', '192.0.2.1', passage())
    trails.record('b', '192.0.2.1', passage())
    trails.record('a', '192.0.2.2', passage())
    trails.record('', '192.0.2.1', passage({ step: 'metadata' }))
    expect(trails.list().map(({ client_id, address }) => [client_id, address])).toEqual([
      ['', '192.0.2.1'],
      ['a', '192.0.2.2'],
      ['b', '192.0.2.1'],
      ['a', '192.0.2.1'],
    ])
  })

  test('counts repeated outcomes as one step, with the time and the request of the last one', () => {
    const trails = new ActivityLog()
    for (let i = 0; i < 1000; i++) trails.record('c', 'a', refused('wrong_code', { at: 1000 + i, request_id: `r${i}` }))
    expect(trails.list()[0]?.steps).toEqual([
      { ...refused('wrong_code', { at: 1999, request_id: 'r999' }), count: 1000 },
    ])
    expect(trails.list()[0]?.began_at).toBe(1000)
  })

  test.each([
    ['another step', passage({ step: 'introspect' })],
    ['another status', passage({ status: 201 })],
    ['another reason', refused('other_reason')],
  ])('shows %s as a separate step', (_what, next) => {
    const trails = new ActivityLog()
    trails.record('c', 'a', passage())
    trails.record('c', 'a', next)
    trails.record('c', 'a', passage())
    expect(trails.list()[0]?.steps.map(({ count }) => count)).toEqual([1, 1, 1])
  })
})

describe('bounds', () => {
  test('thirty steps of a client are kept, and older steps are dropped', () => {
    const trails = new ActivityLog()
    for (let i = 0; i < 100; i++) trails.record('c', 'a', refused(`reason ${i}`))
    const reasons = trails.list()[0]?.steps.map(({ reason }) => reason)
    expect(reasons).toHaveLength(30)
    expect([reasons?.[0], reasons?.at(-1)]).toEqual(['reason 70', 'reason 99'])
  })

  test('two thousand clients are kept: the least recently active are dropped, and the most recent is listed first', () => {
    const trails = new ActivityLog()
    trails.record('busy', 'a', passage())
    for (let i = 0; i < 1999; i++) trails.record(`c${i}`, 'a', passage())
    trails.record('busy', 'a', passage())
    for (let i = 0; i < 10; i++) trails.record(`late${i}`, 'a', passage())
    const ids = trails.list().map(({ client_id }) => client_id)
    expect(ids).toHaveLength(2000)
    expect(ids.slice(0, 2)).toEqual(['late9', 'late8'])
    expect(ids).toContain('busy')
    expect(ids).not.toContain('c9')
    expect(ids).toContain('c10')
  })

  test('a client_id, which any caller can invent, is stored with at most 256 characters', () => {
    const trails = new ActivityLog()
    trails.record('x'.repeat(10_000), 'a', passage())
    expect(trails.list()[0]?.client_id).toBe('x'.repeat(256))
  })
})

test('steps that several threads recorded for a client are merged in the order of their times, with repeated outcomes counted together', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const [a, b] = [new ActivityLog(true), new ActivityLog(true)]
  const seen = (at: ActivityLog, client_id: string, more: Omit<StepOutcome, 'count'>) => {
    vi.advanceTimersByTime(1)
    at.record(client_id, '192.0.2.1', more)
  }
  seen(b, 'c', passage({ step: 'authorize', status: 303 }))
  seen(a, 'c', passage({ step: 'consent', status: 303 }))
  seen(a, 'other', passage())
  seen(b, 'c', passage())
  seen(a, 'c', passage({ request_id: 'r2' }))
  seen(b, 'c', passage({ request_id: 'r3' }))
  const merged = mergeActivity(structuredClone([...a.marked(), ...b.marked()]))
  vi.useRealTimers()
  expect(merged.map(({ client_id }) => client_id)).toEqual(['c', 'other'])
  expect(merged[0]?.steps.map(({ step, status, count }) => `${step} ${status} ${count}`)).toEqual([
    'authorize 303 1',
    'consent 303 1',
    'token 200 3',
  ])
})
