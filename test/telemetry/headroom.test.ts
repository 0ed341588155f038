import { expect, test } from 'vitest'
import { Headroom, type Loads } from '../../src/telemetry/headroom.ts'
import { COUNTERS } from '../../src/telemetry/metric_names.ts'

/** The grants as tokens are counted by. */
const GRANT_LABELS = COUNTERS.core_tokens_issued_total.zero

/** A process whose counters and threads are what the test says. */
function world(knees: Record<string, number> = {}) {
  let [ms, seconds] = [0, 1_000_000]
  const counted = new Map<string, { labels: Record<string, string>; held: { value: number } }>()
  const loads: Record<string, { us: number; of: number }> = {
    front: { us: 0, of: 1 },
    crypto: { us: 0, of: 2 },
    process: { us: 0, of: 4 },
    machine: { us: 0, of: 4 },
  }
  const headroom = new Headroom({
    knees,
    clock: { now: () => seconds },
    nowMs: () => ms,
    loads: (): Loads => structuredClone(loads),
    metrics: { counted: (name) => [...counted].filter(([key]) => key.startsWith(name)).map(([, place]) => place) },
  })
  const count = (name: string, labels: Record<string, string>, by: number) => {
    const key = `${name} ${Object.values(labels).join(' ')}`
    const place = counted.get(key) ?? { labels, held: { value: 0 } }
    place.held.value += by
    counted.set(key, place)
  }
  return {
    headroom,
    /** Five seconds in which so many tokens were issued, with so many seconds of CPU, and others used some. */
    pass({
      tokens = 0,
      grant = 'client_credentials',
      admin = 0,
      forms = 0,
      logins = 0,
      refused = 0,
      front = 0,
      crypto = 0,
      others = 0,
    }) {
      ms += 5000
      seconds += 5
      count('core_tokens_issued_total', { grant_type: grant }, tokens)
      count('core_http_requests_total', { method: 'POST', path: '/oauth/token', status: '200' }, tokens)
      count('core_http_requests_total', { method: 'POST', path: '/oauth/token', status: '503' }, refused)
      count('core_http_requests_total', { method: 'GET', path: '/admin/stats', status: '200' }, admin)
      count('core_http_requests_total', { method: 'GET', path: '/login', status: '200' }, forms)
      count('core_http_requests_total', { method: 'POST', path: '/login', status: '303' }, logins)
      const used = { front, crypto, process: front + crypto, machine: front + crypto + others }
      for (const [name, each] of Object.entries(used)) (loads[name] as { us: number }).us += each * 1e6
      headroom.sample()
    },
    wait(more: number) {
      seconds += more
    },
  }
}

test('without traffic no ceiling is reported', () => {
  const { headroom, pass } = world()
  pass({})
  expect(headroom.show()).toMatchObject({ requests_per_s: 0, source: 'none' })
  expect(headroom.show().ceiling_per_s).toBeUndefined()
})

test('the ceiling is the rate at which the busiest part would be saturated, at the measured cost of a request', () => {
  const { headroom, pass } = world()
  // 1,000 a second take half of the front thread and a quarter of the two crypto threads.
  for (let i = 0; i < 30; i++) pass({ tokens: 5000, front: 2.5, crypto: 2.5 })
  const shown = headroom.show()
  expect(shown).toMatchObject({ source: 'traffic', busiest: 'front', ceiling_per_s: 1800 })
  expect(shown.requests_per_s).toBeCloseTo(1000, -1)
  expect(shown.parts['front']).toBeCloseTo(0.5, 2)
  expect(shown.parts['crypto']).toBeCloseTo(0.25, 2)
  expect(shown.use).toBeCloseTo(1000 / 1800, 2)
})

test('the busiest window of the last day determines the ceiling, and a quiet window does not change it', () => {
  const { headroom, pass, wait } = world()
  pass({ tokens: 5000, front: 2.5 })
  const { ceiling_per_s } = headroom.show()
  // Alone, a request costs more: it shares its commit with nobody.
  pass({ tokens: 50, front: 0.5 })
  expect(headroom.show().ceiling_per_s).toBe(ceiling_per_s)
  wait(86_401)
  pass({ tokens: 500, front: 0.5 })
  expect(headroom.show().ceiling_per_s).toBe(900)
})

test('load of other programs on the machine is not counted as load of the service', () => {
  const { headroom, pass } = world()
  pass({ tokens: 5, front: 0.01, others: 20 })
  expect(headroom.show()).toMatchObject({ source: 'none' })
  for (let i = 0; i < 30; i++) pass({ tokens: 5000, front: 2.5 })
  expect(headroom.show()).toMatchObject({ source: 'traffic', ceiling_per_s: 1800 })
})

test('the use of the machine by other programs lowers the ceiling while it lasts, at most to half of the machine', () => {
  const { headroom, pass } = world()
  const lasting = (others: number) => {
    for (let i = 0; i < 40; i++) pass({ tokens: 5000, front: 2.5, crypto: 5, others })
    return headroom.show().ceiling_per_s
  }
  // 1,000 a second take half of the front thread, half of the two that sign, 1.5 of 4 processors.
  expect(lasting(0)).toBe(1800)
  expect(lasting(5)).toBe(1800)
  expect(lasting(7.5)).toBe(1500)
  expect(lasting(12.5)).toBe(1200)
  expect(lasting(0)).toBe(1800)
})

test('an overload, whose refused requests cost little, does not raise the ceiling and is no traffic', () => {
  const { headroom, pass } = world()
  for (let i = 0; i < 30; i++) pass({ tokens: 5000, front: 2.5, crypto: 2.5 })
  expect(headroom.show()).toMatchObject({ ceiling_per_s: 1800 })
  for (let i = 0; i < 30; i++) pass({ tokens: 5000, refused: 100_000, front: 4.9, crypto: 2.5 })
  expect(headroom.show()).toMatchObject({ ceiling_per_s: 1800 })
  expect(headroom.show().requests_per_s).toBeCloseTo(1000, -1)
})

test('the ceiling is at least the present rate', () => {
  const { headroom, pass } = world()
  for (let i = 0; i < 40; i++) pass({ tokens: 5000, front: 4.9 })
  const { ceiling_per_s, requests_per_s, use } = headroom.show()
  expect(ceiling_per_s).toBe(requests_per_s)
  expect(use).toBe(1)
})

test('requests of administrators are not counted as traffic', () => {
  const { headroom, pass } = world()
  pass({ admin: 5000, front: 2.5 })
  expect(headroom.show()).toMatchObject({ requests_per_s: 0, source: 'none' })
})

test('with a report, utilisation is relative to the measured rates', () => {
  const { headroom, pass } = world({ client_credentials: 4000, refresh_token: 2000 })
  for (let i = 0; i < 30; i++) pass({ tokens: 5000, front: 2.5 })
  const { use, source, ceiling_per_s } = headroom.show()
  expect([source, ceiling_per_s]).toEqual(['report', 4000])
  expect(use).toBeCloseTo(0.25, 2)
})

test('with a report and without requests no ceiling is reported, because it depends on the mix of requests', () => {
  const { headroom, pass } = world({ client_credentials: 4000, metadata: 20_000 })
  pass({})
  expect(headroom.show()).toMatchObject({ source: 'report', use: 0 })
  expect(headroom.show().ceiling_per_s).toBeUndefined()
})

test('the token rate of each grant is relative to the measured rate of that grant', () => {
  const knees = {
    client_credentials: 4000,
    authorization_code: 3000,
    refresh_token: 2000,
    'exchange, new tokens': 1000,
    xaa: 500,
  }
  // A report has nothing that is polled for: its redemption is like that of an authorization code.
  const measured = GRANT_LABELS.filter((grant) => grant !== 'device_code' && grant !== 'ciba')
  const ceilings = measured.map((grant) => {
    const { headroom, pass } = world(knees)
    for (let i = 0; i < 30; i++) pass({ tokens: 5000, grant })
    return headroom.show().ceiling_per_s
  })
  expect(ceilings.toSorted()).toEqual(Object.values(knees).toSorted())
})

test('showing the login form is not counted as a login', () => {
  const { headroom, pass } = world({ login: 40 })
  for (let i = 0; i < 30; i++) pass({ forms: 5000, logins: 50 })
  expect(headroom.show().use).toBeCloseTo(0.25, 2)
})
