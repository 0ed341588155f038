// The revocations that a resource server has received.
import { expect, test } from 'vitest'
import { RevocationList } from '../../packages/resource-server/src/revocation_list.ts'
import { SESSION_REVOKED, TOKEN_REVOKED } from '../../src/events/event_types.ts'

const NOW = Math.floor(Date.now() / 1000)
const tokenAt = (iat: number) => ({
  ...{ token: '', scopes: [], expiresAt: NOW + 600, keyId: 'k1', clientId: 'robot', subject: 'u_1' },
  claims: { iss: 'https://auth.example.com', jti: `t${iat}`, iat, exp: NOW + 600, aud: 'https://rs.example.com' },
})

test.each([
  ['of a client', { [TOKEN_REVOKED]: { client_id: 'robot' } }],
  ['of a user', { [SESSION_REVOKED]: {} }],
])(
  'an earlier revocation %s that arrives again after a later one does not revive the tokens between them',
  (_what, events) => {
    const list = new RevocationList(3600)
    const event = (iat: number) => ({ iat, events, sub_id: { sub: 'u_1' } })
    for (const at of [NOW - 100, NOW - 50, NOW - 100]) list.apply(event(at))
    expect([NOW - 120, NOW - 75, NOW - 25].map((iat) => list.verdict(tokenAt(iat)).state)).toEqual([
      'revoked',
      'revoked',
      'valid',
    ])
  },
)
