// Every security event token that a stream returns has the members that RFC 8417 §2.2, SSF 1.0 §4 and §8.1.4, CAEP 1.0 §2 and §3, and
// RFC 9493 §3 require, and none that they forbid. No JSON schema is published for them, so the rules are written here.
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { issuerOf } from '../../src/config/issuer.ts'
import {
  CREDENTIAL_CHANGE,
  SESSION_REVOKED,
  STREAM_EVENTS,
  STREAM_UPDATED,
  TOKEN_CLAIMS_CHANGE,
  TOKEN_REVOKED,
  VERIFICATION,
} from '../../src/events/event_types.ts'
import { okAdmin } from '../support/admin.ts'
import { machineToken, post } from '../support/flow.ts'
import { basic } from '../support/fronts.ts'
import { anIssuance } from '../support/records.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

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

/** Makes every change that is an event for a resource server. */
async function makeEvents(stream_id: string, server: Awaited<ReturnType<typeof addClient>>, resource: string) {
  const send = (method: string, path: string, body?: object) => okAdmin(service, method, path, body)
  const now = service.app.clock.now()
  const issue = (sub: string) =>
    service.app.store.recordIssuance(anIssuance({ sub, resource, issued_at: now, expires_at: now + 600 }))
  const [changed, disabled] = [await addUser(service), await addUser(service)]
  for (const { id } of [changed, disabled]) await issue(id)
  await send('PATCH', `/admin/users/${changed.id}`, { groups: ['staff'] })
  await send('PATCH', `/admin/users/${changed.id}`, { password: 'another long password' })
  await send('DELETE', `/admin/users/${changed.id}/tokens`)
  await send('PATCH', `/admin/users/${disabled.id}/disable`)
  const client = await addClient(service)
  const { body } = await machineToken(service, client, { resource, scope: 'mcp:read' })
  await post(`${service.issuer}/oauth/revoke`, client, { token: String(body['access_token']) })
  const { client_id } = client
  await machineToken(service, client, { resource, scope: 'mcp:read' })
  await send('POST', '/admin/revocations', { client_id, resource, until: '2999-01-01T00:00:00Z' })
  await send('PATCH', `/admin/clients/${client_id}/suspend`)
  const { keys } = await okAdmin<{ keys: { kid: string; status: string }[] }>(service, 'GET', '/admin/keys')
  await send('POST', `/admin/keys/${keys.find(({ status }) => status === 'next')?.kid}/revoke`, {})
  await send('POST', `/admin/streams/${stream_id}/verify`, { state: 'a state' })
  const headers = { ...basic(server), 'content-type': 'application/json' }
  await fetch(`${service.issuer}/ssf/verify`, { method: 'POST', headers, body: JSON.stringify({ stream_id }) })
  for (const status of ['paused', 'enabled']) await send('PATCH', `/admin/streams/${stream_id}`, { status })
}

test('every security event token has the members that the specifications require, and none that they forbid', async () => {
  const server = await addClient(service)
  const policy = { runtime: { client_ids: [server.client_id] } }
  const { uri } = await addResource(service, { token_claims: ['groups'], policy })
  const wanted = { client_id: server.client_id, events_requested: [...STREAM_EVENTS] }
  const { stream_id } = await okAdmin<{ stream_id: string }>(service, 'POST', '/admin/streams', wanted)
  await makeEvents(stream_id, server, uri)
  const headers = { ...basic(server), 'content-type': 'application/json' }
  const body = JSON.stringify({ returnImmediately: true })
  const answer = await fetch(`${service.issuer}/ssf/poll/${stream_id}`, { method: 'POST', headers, body })
  const { sets } = (await answer.json()) as { sets: Record<string, string> }
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
  expect(seen.filter((type) => type === TOKEN_REVOKED)).toHaveLength(4)
})
