// Every security event token that a stream returns has the members that RFC 8417 §2.2, SSF 1.0 §4 and §8.1.4, CAEP 1.0 §2 and §3, and
// RFC 9493 §3 require, and none that they forbid. No JSON schema is published for them, so the rules are written here.
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { issuerOf } from '../../src/config/issuer.ts'
import {
  ACCOUNT_DISABLED,
  ACCOUNT_ENABLED,
  ACCOUNT_PURGED,
  CREDENTIAL_CHANGE,
  SESSION_REVOKED,
  STREAM_UPDATED,
  TOKEN_CLAIMS_CHANGE,
  TOKEN_REVOKED,
  VERIFICATION,
} from '../../src/events/event_types.ts'
import { everySecurityEvent } from '../support/security_events.ts'
import { startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const seconds = z.int().positive().max(100_000_000_000)
const opaque = z.strictObject({ format: z.literal('opaque'), id: z.string().min(1) })
const user = z.strictObject({ format: z.literal('iss_sub'), iss: z.url(), sub: z.string().min(1) })
/** CAEP §2. */
const optional = {
  event_timestamp: seconds,
  initiating_entity: z.enum(['admin', 'user', 'policy', 'system']).optional(),
}
const claim = z.string().min(1).optional()
const revoked = z
  .strictObject({ event_timestamp: seconds, issued_from: seconds.optional(), issued_before: seconds.optional() })
  .extend({ jti: claim, family: claim, exp: seconds.optional(), kid: claim })
  .extend({ client_id: claim, sub: claim, aud: claim, agent: claim })
  .refine(({ jti, kid, client_id, sub, aud, agent }) => jti ?? kid ?? client_id ?? sub ?? aud ?? agent)

/** The subject and the payload of each type of event. */
const EVENTS: Readonly<Record<string, { sub_id: z.ZodType; payload: z.ZodType }>> = {
  [SESSION_REVOKED]: { sub_id: user, payload: z.strictObject(optional) },
  [CREDENTIAL_CHANGE]: {
    sub_id: user,
    payload: z.strictObject({
      ...optional,
      credential_type: z.literal('password'),
      change_type: z.enum(['create', 'revoke', 'update', 'delete']),
    }),
  },
  [TOKEN_CLAIMS_CHANGE]: {
    sub_id: user,
    payload: z.strictObject({
      ...optional,
      claims: z.record(z.string(), z.unknown()).refine((claims) => Object.keys(claims).length > 0),
    }),
  },
  // RISC 1.0 §2.2 to §2.4.
  ...Object.fromEntries(
    [ACCOUNT_DISABLED, ACCOUNT_ENABLED, ACCOUNT_PURGED].map((type) => [
      type,
      { sub_id: user, payload: z.strictObject({ event_timestamp: seconds }) },
    ]),
  ),
  [TOKEN_REVOKED]: { sub_id: opaque, payload: revoked },
  [VERIFICATION]: { sub_id: opaque, payload: z.strictObject({ state: z.string().optional() }) },
  [STREAM_UPDATED]: {
    sub_id: opaque,
    payload: z.strictObject({ status: z.enum(['enabled', 'paused', 'disabled']), reason: z.string().optional() }),
  },
}
/** A strict object refuses `sub` and `exp`, which SSF §4.1 forbids. */
const token = z.strictObject({
  iss: z.url(),
  jti: z.string().min(1),
  iat: seconds,
  aud: z.string().min(1),
  txn: z.string().min(1),
  sub_id: z.unknown(),
  events: z.record(z.string(), z.unknown()).refine((events) => Object.keys(events).length === 1),
})

test('every security event token has the members that the specifications require, and none that they forbid', async () => {
  const { server, sets } = await everySecurityEvent(service)
  const keys = createRemoteJWKSet(new URL(`${service.issuer}/.well-known/jwks.json`))
  const issuer = issuerOf(service.app.config)
  const seen: string[] = []
  for (const [jti, text] of Object.entries(sets)) {
    const verified = await jwtVerify(text, keys, { issuer, audience: server.client_id, typ: 'secevent+jwt' })
    expect(verified.payload.jti).toBe(jti)
    const { sub_id, events } = token.parse(verified.payload)
    const [[type, payload] = ['', undefined]] = Object.entries(events)
    seen.push(type)
    EVENTS[type]?.sub_id.parse(sub_id)
    EVENTS[type]?.payload.parse(payload)
  }
  expect(new Set(seen)).toEqual(new Set(Object.keys(EVENTS)))
  expect(seen.filter((type) => type === TOKEN_REVOKED)).toHaveLength(6)
})
