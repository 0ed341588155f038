// Attacks on polled streams: limits that are too large or negative, acknowledgements of the events of others, and polls in a loop.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { POLL, PUSH, TOKEN_REVOKED } from '../../src/events/event_types.ts'
import { okAdmin } from '../support/admin.ts'
import { machineToken, post } from '../support/flow.ts'
import { basic } from '../support/fronts.ts'
import { addClient, addResource, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({ SERVICE_EVENTS_PUSH_HOSTS: 'rs.example.com' })
})
afterAll(() => service.close())

type Client = Awaited<ReturnType<typeof addClient>>
interface Streaming {
  server: Client
  uri: string
  url: string
}
async function streaming(): Promise<Streaming> {
  const server = await addClient(service)
  const { uri } = await addResource(service, { policy: { runtime: { client_ids: [server.client_id] } } })
  const wanted = { client_id: server.client_id, events_requested: [TOKEN_REVOKED] }
  const { delivery } = await okAdmin<{ delivery: { endpoint_url: string } }>(service, 'POST', '/admin/streams', wanted)
  return { server, uri, url: delivery.endpoint_url }
}

async function poll({ server, url }: Pick<Streaming, 'server' | 'url'>, body: object) {
  const headers = { ...basic(server), 'content-type': 'application/json' }
  const sent = JSON.stringify({ returnImmediately: true, ...body })
  const answer = await fetch(url, { method: 'POST', headers, body: sent })
  const { sets = {} } = (await answer.json()) as { sets?: Record<string, string> }
  return { status: answer.status, jtis: Object.keys(sets) }
}

async function revokeOne({ uri }: Streaming): Promise<void> {
  const client = await addClient(service)
  const { body } = await machineToken(service, client, { resource: uri })
  await post(`${service.issuer}/oauth/revoke`, client, { token: String(body['access_token']) })
}

const acks = (count: number) => Array.from({ length: count }, (_, i) => `a${i}`)

const POLLS = [
  ['a negative maxEvents', { maxEvents: -1 }, 400],
  ['a huge maxEvents', { maxEvents: 1e12 }, 400],
  ['a fraction as maxEvents', { maxEvents: 1.5 }, 400],
  ['a text as maxEvents', { maxEvents: '1' }, 400],
  ['1,001 acknowledgements', { ack: acks(1001) }, 400],
  ['an acknowledgement of 256 characters', { ack: ['x'.repeat(256)] }, 400],
  ['a text as ack', { ack: 'all' }, 400],
  ['the largest maxEvents', { maxEvents: 1_000_000 }, 200],
  ['maxEvents 0 and 1,000 unknown acknowledgements', { maxEvents: 0, ack: acks(1000) }, 200],
] as const
test.each(POLLS)('V10 a poll with %s acknowledges nothing', async (_what, body, status) => {
  const at = await streaming()
  await revokeOne(at)
  const answer = await poll(at, body)
  expect(answer.status).toBe(status)
  expect((await poll(at, {})).jtis).toHaveLength(1)
})

test('V11 a client reads and acknowledges the events of its own streams only', async () => {
  const [mine, theirs] = [await streaming(), await streaming()]
  await revokeOne(mine)
  await revokeOne(theirs)
  const { jtis } = await poll(theirs, {})
  expect(jtis).toHaveLength(1)
  expect(await poll({ server: mine.server, url: theirs.url }, { ack: jtis })).toEqual({ status: 404, jtis: [] })
  const others = Array.from({ length: 999 }, (_, i) => `AAAAAAAAAAAAAAAAAAAA${i}.tokens`)
  const own = await poll(mine, { ack: [...jtis, ...others] })
  expect(own.status).toBe(200)
  expect(own.jtis).toHaveLength(1)
  expect(own.jtis).not.toEqual(jtis)
  expect((await poll(theirs, {})).jtis).toEqual(jtis)
})

test('V12 polls in a loop do not change the stored position of the stream, and all of them are answered', async () => {
  const at = await streaming()
  await revokeOne(at)
  await poll(at, {})
  const stored = () => service.app.store.listEventCursors()
  const before = await stored()
  const answers = await Promise.all(Array.from({ length: 200 }, () => poll(at, {})))
  expect(new Set(answers.map(({ status, jtis }) => `${status} ${jtis.length}`))).toEqual(new Set(['200 1']))
  expect(await stored()).toEqual(before)
})

test('V13 of many waiting polls of one stream all but a few are answered at once', async () => {
  const at = await streaming()
  let answered = 0
  const polls = Array.from({ length: 10 }, () =>
    poll(at, { returnImmediately: false }).then(({ jtis }) => {
      answered++
      return jtis.length
    }),
  )
  await expect.poll(() => answered, { timeout: 10_000 }).toBe(6)
  await revokeOne(at)
  expect((await Promise.all(polls)).toSorted()).toEqual([0, 0, 0, 0, 0, 0, 1, 1, 1, 1])
})

test('V16 a client sends no events to a server that no admin chose: not with a new stream, nor with a changed one', async () => {
  const { server, url } = await streaming()
  const send = async (method: string, body: object) => {
    const headers = { ...basic(server), 'content-type': 'application/json' }
    const answer = await fetch(`${service.issuer}/ssf/streams`, { method, headers, body: JSON.stringify(body) })
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
  }
  const delivery = { method: PUSH, endpoint_url: 'https://evil.example.com/events' }
  const stream_id = url.slice(url.lastIndexOf('/') + 1)
  const before = await okAdmin(service, 'GET', '/admin/streams')
  for (const [method, body] of [
    ['POST', { delivery }],
    ['PATCH', { stream_id, delivery }],
    ['PUT', { stream_id, delivery }],
  ] as const)
    expect(await send(method, body), method).toMatchObject({ status: 403, body: { error: 'access_denied' } })
  expect(await okAdmin(service, 'GET', '/admin/streams')).toEqual(before)

  const listed = { ...delivery, endpoint_url: 'https://rs.example.com/events' }
  expect((await send('POST', { delivery: listed })).status).toBe(201)
  // The endpoint that an admin set stays, with another header.
  await okAdmin(service, 'PATCH', `/admin/streams/${stream_id}`, { delivery })
  const header = { ...delivery, authorization_header: 'Bearer next' }
  expect((await send('PATCH', { stream_id, delivery: header })).status).toBe(200)
  const moved = { ...delivery, endpoint_url: 'https://evil.example.com/other' }
  expect((await send('PATCH', { stream_id, delivery: moved })).status).toBe(403)
  expect((await send('PATCH', { stream_id, delivery: { method: POLL } })).status).toBe(200)
})
