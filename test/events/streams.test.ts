// Streams of security events from outside: what a resource server learns, what it does not learn, and who may read a stream.
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { issuerOf } from '../../src/config/issuer.ts'
import {
  POLL,
  PUSH,
  STREAM_UPDATED,
  TOKEN_CLAIMS_CHANGE,
  TOKEN_REVOKED,
  VERIFICATION,
} from '../../src/events/event_types.ts'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { RECEIVERS_ALLOWED, TestReceiver } from '../support/receiver.ts'
import { anEvent, anIssuance } from '../support/records.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService(RECEIVERS_ALLOWED)
})
afterAll(() => service.close())

type Machine = Awaited<ReturnType<typeof addClient>>
interface Stream {
  stream_id: string
  delivery: { method: string; endpoint_url: string }
}
const EVERY = ['session-revoked', 'credential-change', 'token-claims-change'].map(
  (name) => `https://schemas.openid.net/secevent/caep/event-type/${name}`,
)

const basic = ({ client_id, client_secret }: Machine) => `Basic ${btoa(`${client_id}:${client_secret}`)}`
async function call(client: Machine, method: string, url: string, body?: object) {
  const response = await fetch(url.startsWith('http') ? url : service.issuer + url, {
    method,
    headers: { authorization: basic(client), 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, body: (text ? JSON.parse(text) : undefined) as Record<string, unknown> }
}

/** A resource server with a polled stream. */
async function streaming(more: Parameters<typeof addResource>[1] = {}) {
  const server = await addClient(service)
  const resource = await addResource(service, { ...more, policy: { runtime: { client_ids: [server.client_id] } } })
  const wanted = { client_id: server.client_id, events_requested: [...EVERY, TOKEN_REVOKED] }
  const stream = await okAdmin<Stream>(service, 'POST', '/admin/streams', wanted)
  return { server, resource, stream }
}
interface Pushed {
  deliveries: { event_id: string }[]
}
type Streaming = Awaited<ReturnType<typeof streaming>>

interface Claims {
  aud: string
  sub_id: object
  events: Record<string, Record<string, unknown>>
}
async function polled({ server, stream }: Streaming, body: object = {}): Promise<Record<string, Claims>> {
  const answer = await call(server, 'POST', stream.delivery.endpoint_url, { returnImmediately: true, ...body })
  expect(answer.status).toBe(200)
  const sets = Object.entries(answer.body['sets'] as Record<string, string>)
  return Object.fromEntries(
    sets.map(([jti, set]) => [jti, JSON.parse(Buffer.from(set.split('.')[1] ?? '', 'base64url').toString())]),
  )
}
const eventsIn = (sets: Record<string, Claims>) => Object.values(sets).flatMap(({ events }) => Object.entries(events))

async function tokenFor({ resource }: Streaming, client: Machine): Promise<string> {
  const form = { grant_type: 'client_credentials', resource: resource.uri, scope: 'mcp:read' }
  const response = await fetch(`${service.issuer}/oauth/token`, {
    method: 'POST',
    headers: { authorization: basic(client) },
    body: new URLSearchParams(form),
  })
  return ((await response.json()) as { access_token: string }).access_token
}
async function revoke(client: Machine, token: string): Promise<string> {
  const body = new URLSearchParams({ token })
  await fetch(`${service.issuer}/oauth/revoke`, { method: 'POST', headers: { authorization: basic(client) }, body })
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).jti
}

test('a stream has the tokens of its own resources only, and is read with the credentials of its client only', async () => {
  const [mine, other] = [await streaming(), await streaming()]
  const client = await addClient(service)
  const theirs = await revoke(client, await tokenFor(other, client))
  const jti = await revoke(client, await tokenFor(mine, client))
  const sets = await polled(mine)
  expect(eventsIn(sets)).toMatchObject([[TOKEN_REVOKED, { jti }]])
  expect(JSON.stringify(sets)).not.toContain(theirs)
  const url = mine.stream.delivery.endpoint_url
  expect((await call(other.server, 'POST', url, {})).status).toBe(404)
  expect((await call({ ...mine.server, client_secret: 'wrong' }, 'POST', url, {})).status).toBe(401)
  expect((await call(client, 'POST', '/ssf/streams', {})).status).toBe(403)
})

test('a suspended client is an event only at the resources for which it has unexpired tokens', async () => {
  const [mine, other] = [await streaming(), await streaming()]
  const client = await addClient(service)
  await tokenFor(mine, client)
  await okAdmin(service, 'PATCH', `/admin/clients/${client.client_id}/suspend`)
  expect(eventsIn(await polled(mine))).toMatchObject([[TOKEN_REVOKED, { client_id: client.client_id }]])
  expect(eventsIn(await polled(other))).toEqual([])
})

test('events are acknowledged one by one, in any order, and none comes again', async () => {
  const at = await streaming()
  const client = await addClient(service)
  const revoked: string[] = []
  for (let i = 0; i < 3; i++) revoked.push(await revoke(client, await tokenFor(at, client)))
  const jtiOf = (sets: Record<string, Claims>) => eventsIn(sets).map(([, { jti }]) => jti)
  const first = await polled(at)
  expect(jtiOf(first)).toEqual(revoked)
  const [one = '', two = '', three = ''] = Object.keys(first)
  expect(jtiOf(await polled(at, { ack: [two] }))).toEqual([revoked[0], revoked[2]])
  expect(jtiOf(await polled(at, { maxEvents: 1 }))).toEqual([revoked[0]])
  expect(jtiOf(await polled(at, { ack: [one, 'unknown'] }))).toEqual([revoked[2]])
  expect(jtiOf(await polled(at, { setErrs: { [three]: { err: 'invalid_request' } } }))).toEqual([])
  expect((await service.app.store.findEventCursor({ receiver_id: at.stream.stream_id }))?.acknowledged).toEqual([])
})

test('changed groups are an event with the claims that tokens of the resource have, without email and name', async () => {
  const at = await streaming({ token_claims: ['groups', 'email', 'name'] })
  const user = await addUser(service, { name: 'Distinctive Zebra' })
  const now = service.app.clock.now()
  const issued = anIssuance({ sub: user.id, resource: at.resource.uri, issued_at: now, expires_at: now + 600 })
  await service.app.store.recordIssuance(issued)
  await okAdmin(service, 'PATCH', `/admin/users/${user.id}`, { groups: ['staff'] })
  const sets = await polled(at)
  expect(eventsIn(sets)).toMatchObject([[TOKEN_CLAIMS_CHANGE, { claims: { groups: ['staff'] } }]])
  expect(Object.values(sets)[0]?.sub_id).toEqual({ format: 'iss_sub', iss: issuerOf(service.app.config), sub: user.id })
  expect(JSON.stringify(sets)).not.toMatch(/zebra|@/i)
})

test('an operator pauses a stream: the receiver learns of it when it is enabled again, and every change is recorded', async () => {
  const at = await streaming()
  const path = `/admin/streams/${at.stream.stream_id}`
  await okAdmin(service, 'PATCH', path, { status: 'paused', reason: 'Maintenance' })
  const poll = () => call(at.server, 'POST', at.stream.delivery.endpoint_url, { returnImmediately: true })
  const empty = await poll()
  expect([empty.status, empty.body]).toEqual([
    200,
    { sets: {}, delivers: expect.objectContaining({ status: 'paused' }) },
  ])
  const status = await call(at.server, 'GET', `/ssf/status?stream_id=${at.stream.stream_id}`)
  expect(status.body).toMatchObject({ status: 'paused', reason: 'Maintenance' })
  await okAdmin(service, 'PATCH', path, { status: 'enabled' })
  expect(eventsIn(await polled(at))).toMatchObject([
    [STREAM_UPDATED, { status: 'paused' }],
    [STREAM_UPDATED, { status: 'enabled' }],
  ])
  await call(at.server, 'POST', '/ssf/verify', { stream_id: at.stream.stream_id, state: 's' })
  await okAdmin(service, 'POST', `${path}/verify`, { state: 'of the operator' })
  expect(eventsIn(await polled(at)).slice(2)).toMatchObject([
    [VERIFICATION, { state: 's' }],
    [VERIFICATION, { state: 'of the operator' }],
  ])
  await okAdmin(service, 'DELETE', path)
  for (const action of ['stream_created', 'stream_updated', 'stream_verification_requested', 'stream_deleted'])
    expect((await eventsOf(service, action))[0]?.detail).toMatchObject({ stream_id: at.stream.stream_id })
  expect((await call(at.server, 'POST', at.stream.delivery.endpoint_url, {})).status).toBe(404)
})

test('a stream has the members of the standard, and what it delivers on request only: receivers of others refuse unknown members', async () => {
  const { server, stream } = await streaming()
  const path = `/ssf/streams?stream_id=${stream.stream_id}`
  // OpenID SSF 1.0 §8.1.1.
  const members = ['stream_id', 'iss', 'aud', 'delivery', 'events_supported', 'events_requested', 'events_delivered']
  const { body } = await call(server, 'GET', path)
  expect(Object.keys(body)).toEqual(members)
  expect((await call(server, 'GET', `${path}&delivers=true`)).body).toEqual({
    ...body,
    delivers: expect.objectContaining({ status: 'enabled', events: expect.any(Array) }),
  })
})

test('a waiting poll answers with a change that was made while it began', async () => {
  const at = await streaming()
  const { store } = service.app
  const { slug } = at.resource
  const feedEnd = store.readSqliteFeedEnd.bind(store)
  vi.spyOn(store, 'readSqliteFeedEnd').mockImplementationOnce(async () => {
    await okAdmin(service, 'DELETE', `/admin/resources/${slug}/policy/runtime/client-ids/${at.server.client_id}`)
    return feedEnd()
  })
  const { body } = await call(at.server, 'POST', at.stream.delivery.endpoint_url, {})
  expect(body).toMatchObject({ sets: {}, delivers: { resources: [] } })
})

test('a resource server manages its stream with an own token for this service that has the scope ssf.manage, and with no other token', async () => {
  const { server } = await streaming()
  await addResource(service, { uri: service.issuer, scopes: ['ssf.manage', 'other'] })
  const elsewhere = await addResource(service, { scopes: ['ssf.manage'] })
  await okAdmin(service, 'PATCH', `/admin/clients/${server.client_id}`, { scope: 'ssf.manage other' })
  const status = async (resource: string, scope: string) => {
    const form = new URLSearchParams({ grant_type: 'client_credentials', resource, scope })
    const headers = { authorization: basic(server) }
    const made = await fetch(`${service.issuer}/oauth/token`, { method: 'POST', headers, body: form })
    const { access_token } = (await made.json()) as { access_token: string }
    return (await fetch(`${service.issuer}/ssf/streams`, { headers: { authorization: `Bearer ${access_token}` } }))
      .status
  }
  expect(await status(service.issuer, 'ssf.manage')).toBe(200)
  expect(await status(service.issuer, 'other')).toBe(403)
  expect(await status(elsewhere.uri, 'ssf.manage')).toBe(401)
})

test('a poll that did not read all events of the trail says that there are more, also without an event for the stream', async () => {
  const at = await streaming()
  const suspended = () =>
    service.app.store.recordAudit(
      anEvent({ action: 'client_suspended', detail: {}, created_at: service.app.clock.now() }),
    )
  await Promise.all(Array.from({ length: 1200 }, suspended))
  const poll = async (more = {}) => {
    const { body } = await call(at.server, 'POST', at.stream.delivery.endpoint_url, {
      maxEvents: 1000,
      ack: acks.flat(),
      ...more,
    })
    acks.push(Object.keys(body['sets'] as object))
    return body['moreAvailable'] ?? false
  }
  const acks: string[][] = []
  // The last one would wait for an event.
  expect([await poll(), await poll(), await poll({ returnImmediately: true })]).toEqual([true, true, false])
  expect(new Set(acks.flat()).size).toBe(acks.flat().length)
})

test('a receiver that polls may send an empty endpoint_url or the URL of the service, and one that gets pushes may not', async () => {
  const { server } = await streaming()
  for (const endpoint_url of ['', `${service.issuer}/ssf/poll/st_1`]) {
    const made = await call(server, 'POST', '/ssf/streams', { delivery: { method: POLL, endpoint_url } })
    expect([made.status, made.body]).toEqual([201, expect.objectContaining({ delivery: polledAt(made.body) })])
  }
  const delivery = { method: PUSH, endpoint_url: '' }
  expect((await call(server, 'POST', '/ssf/streams', { delivery })).status).toBe(400)
})
const polledAt = ({ stream_id }: Record<string, unknown>) => ({
  method: POLL,
  endpoint_url: `${service.issuer}/ssf/poll/${stream_id}`,
})

test('a pushed event is sent again until it is accepted, with the header of the receiver, which is never shown', async () => {
  const receiver = await TestReceiver.start()
  receiver.next.push(500)
  const server = await addClient(service)
  const resource = await addResource(service, { policy: { runtime: { client_ids: [server.client_id] } } })
  const delivery = { method: PUSH, endpoint_url: receiver.url, authorization_header: 'Bearer of-the-receiver' }
  const wanted = { delivery, events_requested: [TOKEN_REVOKED] }
  const made = await callAdmin(service, 'POST', '/admin/streams', { client_id: server.client_id, ...wanted })
  const stream = made.body as unknown as Stream
  const client = await addClient(service)
  await revoke(client, await tokenFor({ server, resource, stream }, client))
  await receiver.arrived(1)
  service.advance(3)
  const [one, two] = await receiver.arrived(2)
  expect(two?.text.split('.')[1]).toBe(one?.text.split('.')[1])
  expect(two?.headers).toMatchObject({
    'content-type': 'application/secevent+jwt',
    authorization: 'Bearer of-the-receiver',
  })
  const { deliveries } = await okAdmin<Pushed>(service, 'GET', `/admin/streams/${stream.stream_id}`)
  const event_id = deliveries[0]?.event_id
  const path = `/admin/streams/${stream.stream_id}`
  const again = await okAdmin(service, 'POST', `${path}/redeliver/${event_id}`)
  expect(again).toMatchObject({ status: 204, type: 'token_revoked' })
  expect(receiver.got[2]?.text.split('.')[1]).toBe(one?.text.split('.')[1])
  expect((await eventsOf(service, 'stream_redelivered'))[0]?.detail).toMatchObject({ event_id })
  const query = `?stream_id=${stream.stream_id}`
  const shown = [
    made,
    await call(server, 'GET', `/ssf/streams${query}`),
    await okAdmin(service, 'GET', '/admin/streams'),
  ]
  expect(JSON.stringify(shown)).not.toContain('of-the-receiver')
  const polling = { stream_id: stream.stream_id, delivery: { method: POLL } }
  expect((await call(server, 'PATCH', '/ssf/streams', polling)).body).toMatchObject({ delivery: { method: POLL } })
})

test('an operator may create a stream before a resource lists its client, with a warning; the client must exist', async () => {
  const { client_id } = await addClient(service)
  const stream = await okAdmin<{ stream_id: string }>(service, 'POST', '/admin/streams', { client_id })
  const path = `/admin/streams/${stream.stream_id}`
  expect(stream).toMatchObject({
    warning: 'events_requested has no supported event type: the stream gets no events',
  })
  expect(await okAdmin(service, 'PATCH', path, { events_requested: [TOKEN_REVOKED] })).toMatchObject({
    warning: 'the client is on the runtime list of no resource: the stream gets no events',
  })
  await addResource(service, { policy: { runtime: { client_ids: [client_id] } } })
  expect(await okAdmin(service, 'GET', path)).not.toHaveProperty('warning')
  const unknown = await callAdmin(service, 'POST', '/admin/streams', { client_id: 'nobody' })
  expect([unknown.status, unknown.body['error_description']]).toEqual([400, 'client_id names no client'])
})
