// The revocations that a resource server has received.
import { afterEach, expect, test, vi } from 'vitest'
import { RevocationList } from '../../packages/resource-server/src/revocation_list.ts'
import { SESSION_REVOKED, TOKEN_REVOKED } from '../../src/events/event_types.ts'

const NOW = Math.floor(Date.now() / 1000)
const tokenAt = (iat: number) => ({
  ...{ token: '', scopes: [], expiresAt: NOW + 600, keyId: 'k1', clientId: 'robot', subject: 'u_1' },
  claims: { iss: 'https://auth.example.com', jti: `t${iat}`, iat, exp: NOW + 600, aud: 'https://rs.example.com' },
})

/** A list that began an hour ago. */
function listOf(limits: Partial<ConstructorParameters<typeof RevocationList>[0]> = {}) {
  const list = new RevocationList({ longestToken: 86_400, ...limits })
  vi.useFakeTimers({ toFake: ['Date'], now: (NOW - 3600) * 1000 })
  list.begin()
  vi.setSystemTime(NOW * 1000)
  return list
}
afterEach(() => void vi.useRealTimers())

test.each([
  ['of a client', { [TOKEN_REVOKED]: { client_id: 'robot' } }],
  ['of a user', { [SESSION_REVOKED]: {} }],
])(
  'an earlier revocation %s that arrives again after a later one does not revive the tokens between them',
  (_what, events) => {
    const list = listOf()
    const event = (iat: number) => ({ iat, events, sub_id: { sub: 'u_1' } })
    for (const at of [NOW - 100, NOW - 50, NOW - 100]) list.apply(event(at))
    expect([NOW - 120, NOW - 75, NOW - 25].map((iat) => list.verdict(tokenAt(iat)).state)).toEqual([
      'revoked',
      'revoked',
      'valid',
    ])
  },
)

test('W07 fifty thousand revoked tokens, and as many revocations of one client, stay below the bound, and cost the same each', () => {
  const mostBytes = 2 ** 20
  const list = listOf({ mostBytes })
  const apply = (event: object) => list.apply({ iat: NOW, events: { [TOKEN_REVOKED]: event } })
  for (let i = 0; i < 50_000; i++) {
    apply({ jti: `a-token-of-22-bytes-${i}`, exp: NOW + 600 })
    expect(list.size <= mostBytes).toBe(true)
  }
  for (let i = 0; i < 50_000; i++) apply({ client_id: 'robot', sub: `u_${i}`, aud: 'https://rs.example.com' })
  expect(list.size).toBeLessThanOrEqual(mostBytes)
  // The list was emptied in between. What it forgot is for the authorization server to decide.
  expect(list.verdict({ ...tokenAt(NOW - 60), subject: 'u_7' }).state).toBe('unsure')
  expect(list.verdict({ ...tokenAt(NOW - 60), subject: 'u_49999' }).state).toBe('revoked')
})

test('W07 a revoked token is forgotten when it has expired, and not before', () => {
  const list = listOf()
  list.apply({ iat: NOW, events: { [TOKEN_REVOKED]: { jti: 't1', exp: NOW + 60 } } })
  const { size } = list
  expect(size).toBeGreaterThan(0)
  const token = { ...tokenAt(NOW - 60), claims: { jti: 't1', iat: NOW - 60 } }
  vi.setSystemTime((NOW + 60) * 1000)
  expect(list.verdict(token).state).toBe('revoked')
  vi.setSystemTime((NOW + 120) * 1000)
  list.apply({ iat: NOW + 120, events: {} })
  expect(list.size).toBe(0)
  list.apply({ iat: NOW, events: { [TOKEN_REVOKED]: { jti: 't2', exp: NOW + 60 } } })
  expect(list.size).toBe(0)
})

test('W08 a token that lives longer than the list remembers is introspected once for each period', () => {
  const list = listOf({ longestToken: 1000 })
  list.apply({ iat: NOW, events: { [TOKEN_REVOKED]: { client_id: 'robot' } } })
  const token = tokenAt(NOW - 10)
  expect(list.verdict(token).state).toBe('revoked')
  vi.setSystemTime((NOW + 1100) * 1000)
  list.apply({ iat: NOW + 1100, events: {} })
  expect(list.size).toBe(0)
  expect(list.verdict(token)).toEqual({ state: 'unsure', heard: NOW + 100 })
  expect(list.verdict(tokenAt(NOW + 1000)).state).toBe('valid')
})

test.each([
  ['a client', { client_id: 'robot' }, { clientId: 'other' }],
  ['a user', { sub: 'u_1' }, { subject: 'u_2' }],
  ['a client of a user', { client_id: 'robot', sub: 'u_1' }, { subject: 'u_2' }],
  ['a resource', { aud: 'https://rs.example.com' }, { claims: { aud: 'https://other.example.com', iat: NOW - 60 } }],
  ['a key', { kid: 'k1' }, { keyId: 'k2' }],
  ['a key and a client', { kid: 'k1', client_id: 'robot' }, { keyId: 'k2' }],
  ['an agent', { agent: 'a1' }, { claims: { act: { sub: 'a2' }, iat: NOW - 60 } }],
])('a revocation of %s matches its tokens and no other', (_what, event, other) => {
  const list = listOf()
  list.apply({ iat: NOW, events: { [TOKEN_REVOKED]: event } })
  const base = tokenAt(NOW - 60)
  const token = { ...base, claims: { ...base.claims, act: { sub: 'x', act: { sub: 'a1' } } } }
  expect([list.verdict(token).state, list.verdict({ ...token, ...other }).state]).toEqual(['revoked', 'valid'])
})
