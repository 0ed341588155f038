// Webhooks from outside: what a receiver gets, in which order, and what an operator sees meanwhile.
import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { idFloor } from '../../src/lib/id.ts'
import type { Issuance } from '../../src/records/issuance.ts'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { RECEIVERS_ALLOWED, TestReceiver } from '../support/receiver.ts'
import { anIssuance } from '../support/records.ts'
import { addClient, addResource, addUser, SEALED, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({ ...RECEIVERS_ALLOWED, ...SEALED })
})
afterAll(() => service.close())

interface Hook {
  id: string
  secret: string
  status: string
  pending: number
  last_error?: string
  deliveries: { event_id: string; status?: number; error?: string }[]
}
const hookTo = (receiver: TestReceiver, events: string[]) =>
  okAdmin<Hook>(service, 'POST', '/admin/webhooks', { url: receiver.url, events })
const shown = ({ id }: Hook) => okAdmin<Hook>(service, 'GET', `/admin/webhooks/${id}`)
const remove = ({ id }: Hook) => okAdmin(service, 'DELETE', `/admin/webhooks/${id}`)

async function suspend(): Promise<string> {
  const { client_id } = await addClient(service)
  await okAdmin(service, 'PATCH', `/admin/clients/${client_id}/suspend`)
  return client_id
}

/** An independent check of a signature of Standard Webhooks. */
function isSignedBy(secret: string, { headers, text }: TestReceiver['got'][number]): boolean {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const input = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`
  const wanted = createHmac('sha256', key).update(input).digest('base64')
  return String(headers['webhook-signature']).split(' ').includes(`v1,${wanted}`)
}

test('a list that is made while a receiver is deleted has the others', async () => {
  const create = () =>
    okAdmin<{ id: string }>(service, 'POST', '/admin/webhooks', {
      url: 'https://hooks.invalid/',
      events: ['*'],
      paused: true,
    })
  const [gone, kept] = [await create(), await create()]
  const { client_id } = await addClient(service)
  await addResource(service, { policy: { runtime: { client_ids: [client_id] } } })
  const stream = await okAdmin<{ stream_id: string }>(service, 'POST', '/admin/streams', { client_id })
  const known = await service.app.store.listReceivers({})
  const idsOf = async (path: string) =>
    (await okAdmin<{ id?: string; stream_id?: string }[]>(service, 'GET', path)).map(
      (each) => each.id ?? each.stream_id,
    )
  for (const id of [gone.id, stream.stream_id]) await service.app.store.deleteReceiver({ id })
  // What the list had read before the deletion.
  const { listReceivers } = service.app.store
  const stale = { listReceivers: async ({ kind }: { kind?: string }) => known.filter((each) => each.kind === kind) }
  Object.assign(service.app.store, stale)
  try {
    const listed = [...(await idsOf('/admin/webhooks')), ...(await idsOf('/admin/streams'))]
    expect([gone.id, kept.id, stream.stream_id].map((id) => listed.includes(id))).toEqual([false, true, false])
  } finally {
    Object.assign(service.app.store, { listReceivers })
  }
})

test('later events wait for one that is refused; it comes again with its id after growing pauses, and the webhook is failing meanwhile', async () => {
  const receiver = await TestReceiver.start()
  const hook = await hookTo(receiver, ['client_suspended'])
  receiver.next.push(500, 503)
  const clients = [await suspend(), await suspend(), await suspend()]
  await receiver.arrived(1)
  await vi.waitFor(async () =>
    expect(await shown(hook)).toMatchObject({ status: 'failing', pending: 3, last_error: 'HTTP 500' }),
  )
  service.advance(2)
  await receiver.arrived(2)
  await vi.waitFor(async () => expect((await shown(hook)).last_error).toBe('HTTP 503'))
  service.advance(2)
  await suspend()
  expect(receiver.got).toHaveLength(2)
  service.advance(3)
  await receiver.arrived(6)
  const ids = receiver.got.map(({ headers }) => headers['webhook-id'])
  expect([ids[0], ids[1]]).toEqual([ids[2], ids[2]])
  expect(new Set(ids).size).toBe(4)
  expect(receiver.accepted.slice(0, 3)).toMatchObject(
    clients.map((client_id) => ({ type: 'client_suspended', data: { client_id } })),
  )
  for (const delivered of receiver.got) expect(isSignedBy(hook.secret, delivered)).toBe(true)
  await vi.waitFor(async () => expect(await shown(hook)).toMatchObject({ status: 'active', pending: 0 }))
  expect((await shown(hook)).deliveries.map(({ status }) => status)).toEqual([204, 204, 204, 204, 503, 500])
  await remove(hook)
})

test('events of a paused webhook wait, and are sent in order when it is resumed', async () => {
  const receiver = await TestReceiver.start()
  const hook = await hookTo(receiver, ['client_*'])
  await okAdmin(service, 'PATCH', `/admin/webhooks/${hook.id}`, { paused: true })
  const clients = [await suspend(), await suspend()]
  expect(await shown(hook)).toMatchObject({ status: 'paused', pending: 2 })
  await okAdmin(service, 'PATCH', `/admin/webhooks/${hook.id}`, { paused: false })
  await receiver.arrived(2)
  expect(receiver.accepted).toMatchObject(clients.map((client_id) => ({ data: { client_id } })))
  await remove(hook)
})

test('an event is judged by the filter that another instance set before it, although the cache still has the one before', async () => {
  const receiver = await TestReceiver.start()
  const hook = await hookTo(receiver, ['client_deleted'])
  const { listReceivers } = service.app.store
  const known = await listReceivers({})
  await okAdmin(service, 'PATCH', `/admin/webhooks/${hook.id}`, { events: ['client_suspended'] })
  Object.assign(service.app.store, { listReceivers: async () => known })
  try {
    const client_id = await suspend()
    await receiver.arrived(1)
    expect(receiver.accepted).toMatchObject([{ type: 'client_suspended', data: { client_id } }])
  } finally {
    Object.assign(service.app.store, { listReceivers })
  }
  await remove(hook)
})

test('an event that was not accepted within events.retention is not sent any more; later ones are', async () => {
  const receiver = await TestReceiver.start()
  const hook = await hookTo(receiver, ['client_suspended'])
  receiver.next.push(500)
  await suspend()
  await receiver.arrived(1)
  service.advance(8 * 86_400)
  const later = await suspend()
  await receiver.arrived(2)
  expect(receiver.accepted).toMatchObject([{ data: { client_id: later } }])
  await remove(hook)
})

test('an event is sent once more on request, with the same webhook-id', async () => {
  const receiver = await TestReceiver.start()
  const hook = await hookTo(receiver, ['client_suspended'])
  await suspend()
  const [first] = await receiver.arrived(1)
  const again = await okAdmin(service, 'POST', `/admin/webhooks/${hook.id}/redeliver/${first?.headers['webhook-id']}`)
  expect(again).toMatchObject({ status: 204, type: 'client_suspended' })
  expect(receiver.got.map(({ text }) => text)).toEqual([first?.text, first?.text])
  await remove(hook)
})

test('a test event shows what was sent and answered, also of a paused webhook, and payloads have no secret', async () => {
  const receiver = await TestReceiver.start()
  const hook = await hookTo(receiver, ['client_suspended'])
  await suspend()
  const [first] = await receiver.arrived(1)
  const path = `/admin/webhooks/${hook.id}`
  const { payload } = await okAdmin(service, 'GET', `${path}/payloads/${first?.headers['webhook-id']}`)
  expect(payload).toEqual(JSON.parse(first?.text ?? ''))
  await okAdmin(service, 'PATCH', path, { paused: true })
  receiver.answer = (response) => response.writeHead(400).end('no field "channel"')
  const tested = await okAdmin(service, 'POST', `${path}/test`)
  const sent = receiver.got[1]
  expect(tested).toMatchObject({
    status: 400,
    error: 'HTTP 400',
    response: 'no field "channel"',
    type: 'webhook_tested',
  })
  expect(tested['payload']).toEqual(JSON.parse(sent?.text ?? ''))
  expect(sent && isSignedBy(hook.secret, sent)).toBe(true)
  const id = String(sent?.headers['webhook-id'])
  expect(tested['event_id']).toBe(id)
  expect((await service.app.store.findAuditEvent({ id }))?.action).toBe('webhook_tested')
  expect(JSON.stringify([tested, payload])).not.toContain(hook.secret.slice('whsec_'.length))
  expect((await callAdmin(service, 'GET', `${path}/payloads/${id}`)).status).toBe(404)
  await remove(hook)
})

test('issued tokens are sent to a webhook that names them in full, in the order of their ids, and none from before', async () => {
  const [named, pattern] = [await TestReceiver.start(), await TestReceiver.start()]
  const { store, clock } = service.app
  const before = clock.now() - 10
  await store.recordIssuance(anIssuance({ id: idFloor(before), issued_at: before, expires_at: before + 600 }))
  const hooks = [await hookTo(named, ['client_suspended']), await hookTo(pattern, ['token_*', '*'])]
  await okAdmin(service, 'PATCH', `/admin/webhooks/${hooks[0]?.id}`, { events: ['token_issued', 'client_suspended'] })
  const now = clock.now()
  const issue = (more: Partial<Issuance> = {}) =>
    store.recordIssuance(anIssuance({ issued_at: now, expires_at: now + 600, ...more }))
  const ids = [idFloor(now + 1), idFloor(now + 2), idFloor(now + 3)] as const
  // The second id is committed last.
  for (const id of [ids[2], ids[0], ids[1]]) await issue({ id })
  await issue({ id: idFloor(now + 4), broker_provider: 'github' })
  await suspend()
  await vi.waitFor(async () => expect(await shown(hooks[0] as Hook)).toMatchObject({ pending: 3 }))
  service.advance(120)
  await named.arrived(4)
  expect(named.accepted.map(({ type }) => type)).toEqual(['client_suspended', ...ids.map(() => 'token_issued')])
  expect(named.got.slice(1).map(({ headers }) => headers['webhook-id'])).toEqual(ids)
  const again = await okAdmin(service, 'POST', `/admin/webhooks/${hooks[0]?.id}/redeliver/${ids[0]}`)
  expect(again).toMatchObject({ status: 204, type: 'token_issued' })
  await vi.waitFor(async () => expect(await shown(hooks[1] as Hook)).toMatchObject({ pending: 0 }))
  expect(pattern.accepted.filter(({ type }) => String(type).endsWith('token_issued'))).toEqual([])
  for (const hook of hooks) await remove(hook)
})

test('while a receiver hangs, the events that it accepted before do not wait any more', async () => {
  const receiver = await TestReceiver.start()
  const hook = await hookTo(receiver, ['client_suspended'])
  receiver.answer = (response) => {
    if (receiver.got.length === 1) response.writeHead(204).end()
  }
  await Promise.all([suspend(), suspend()])
  await receiver.arrived(2)
  await vi.waitFor(async () => expect(await shown(hook)).toMatchObject({ pending: 1, status: 'active' }), 5000)
  await remove(hook)
})

test('after a rotation both secrets sign, and after a day only the new one', async () => {
  const receiver = await TestReceiver.start()
  const hook = await hookTo(receiver, ['client_suspended'])
  const { secret } = await okAdmin<Hook>(service, 'POST', `/admin/webhooks/${hook.id}/rotate-secret`)
  await suspend()
  const [both] = await receiver.arrived(1)
  service.advance(86_400)
  await suspend()
  const [, one] = await receiver.arrived(2)
  const signs = (delivered = both) => delivered && [hook.secret, secret].map((each) => isSignedBy(each, delivered))
  expect([signs(both), signs(one)]).toEqual([
    [true, true],
    [false, true],
  ])
  await remove(hook)
})

test('an event has no email and no name of a user', async () => {
  const receiver = await TestReceiver.start()
  const hook = await hookTo(receiver, ['user_*'])
  const user = {
    email: 'distinctive.zebra@example.com',
    name: 'Distinctive Zebra',
    password: 'correct horse battery staple',
  }
  const { id } = await okAdmin<{ id: string }>(service, 'POST', '/admin/users', user)
  const { id: other } = await addUser(service)
  await service.app.store.recordAudit({
    ...{
      id: hook.id.slice(3),
      action: 'user_email_changed',
      actor_id: other,
      ip: '',
      created_at: service.app.clock.now(),
    },
    detail: { provider: 'default', email: user.email, email_before: user.email },
  })
  const [created, changed] = await receiver.arrived(2)
  expect(created?.text).toContain(id)
  expect(changed?.text).toContain('"provider":"default"')
  expect(`${created?.text}${changed?.text}`).not.toMatch(/zebra/i)
  await remove(hook)
})

test('an event about a change names the changed fields; their values are in the audit trail only', async () => {
  const receiver = await TestReceiver.start()
  const hook = await hookTo(receiver, ['user_updated', 'client_updated'])
  const { client_id } = await addClient(service)
  const { id } = await addUser(service)
  await okAdmin(service, 'PATCH', `/admin/users/${id}`, { email: 'striped.okapi@example.com', name: 'Striped Okapi' })
  await okAdmin(service, 'PATCH', `/admin/clients/${client_id}`, { client_name: 'Dotted Okapi' })
  const received = await receiver.arrived(2)
  expect(received.map(({ text }) => JSON.parse(text).data.detail)).toEqual([
    { user_id: id, fields: ['email', 'name'] },
    { fields: ['client_name'] },
  ])
  const recorded = JSON.stringify(
    await service.app.store.listAudit({ about: id, since: idFloor(0), limit: 9, offset: 0 }),
  )
  expect(recorded).toContain('striped.okapi@example.com')
  expect(recorded).not.toContain('Striped Okapi')
  await remove(hook)
})

test('the secret is encrypted in the database, and shown once', async () => {
  const receiver = await TestReceiver.start()
  const hook = await hookTo(receiver, ['client_*'])
  const stored = await service.app.store.findReceiver({ id: hook.id })
  expect(stored?.secret).toMatch(/^aes1\./)
  expect(JSON.stringify([stored, await shown(hook)])).not.toContain(hook.secret)
  await remove(hook)
})

test.each([
  [
    { url: 'https://hooks.example.com/', events: ['no_such_action'] },
    'events: no audit action is named no_such_action',
  ],
  [{ url: 'https://hooks.example.com/', events: [] }, 'events must not be empty'],
  [{ url: 'ftp://hooks.example.com/', events: ['*'] }, 'url must be a well-formed http or https URL'],
])('a webhook of %j is refused', async (body, because) => {
  const answer = await callAdmin(service, 'POST', '/admin/webhooks', body)
  expect([answer.status, answer.body['error_description']]).toEqual([400, because])
})
