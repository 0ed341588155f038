// What an agent sees at night, through the tools alone: faults that operators meet, and those drills of docs/operate/drills.md that need neither
// a disk nor another instance. Each result says what is wrong and where it is set, and leads to the next tool.
import type { Client } from '@modelcontextprotocol/client'
import { beforeAll, expect, test } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { callTool, connectAgent, WITH_MCP } from '../support/agent.ts'
import { Browser } from '../support/browser.ts'
import { atEndOfFile } from '../support/end_of_file.ts'
import { authorize, authorizeUrl, machineToken, redeem, refresh, walk } from '../support/flow.ts'
import { RECEIVERS_ALLOWED, TestReceiver } from '../support/receiver.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'
import { LOOPBACK, xaaScene } from '../support/xaa.ts'

let service: TestService
let agent: Client
beforeAll(async () => {
  service = await startService({ ...WITH_MCP, ...LOOPBACK, ...RECEIVERS_ALLOWED })
  atEndOfFile(() => service.close())
  agent = await connectAgent(service)
})

type Row = Record<string, unknown>
/** The answer of a tool, which must not be a refusal. */
async function call(name: string, args: Row = {}): Promise<Row> {
  const { answer, isError, text } = await callTool(agent, name, args)
  expect(isError, text).toBe(false)
  return answer
}
const rows = async (name: string, args: Row, member: string) => (await call(name, args))[member] as Row[]
/** What the result of client_connections says about the last reason of a client. */
const reasonOf = async (client_id: string) => (await rows('client_connections', { client_id }, 'reasons'))[0]
const statusOf = async (answer: Promise<{ status: number }>) => (await answer).status
const explained = (reason: string, next_tool: string) =>
  expect.objectContaining({
    reason,
    next_tool,
    wrong: expect.stringMatching(/.{10}/),
    fix: expect.stringMatching(/.{10}/),
  })
const tokenOf = async (client: Parameters<typeof machineToken>[1], fields = {}) =>
  String((await machineToken(service, client, fields)).body['access_token'])

test('a looping client is found by waste, gets 429 by its own limit, and another client gets tokens', async () => {
  const [looper, robot] = [await addClient(service, { client_name: 'Looper' }), await addClient(service)]
  const { client_id } = looper
  for (let i = 0; i < 110; i++) await machineToken(service, looper)
  expect((await rows('waste', {}, 'clients'))[0]).toMatchObject({ client_id, tokens: 110 })
  expect((await rows('client_connections', { client_id }, 'connections'))[0]).toMatchObject({
    last_5_minutes: { issued: 110, limited: 0 },
  })
  await call('limit_client', { client_id, limits: { requests_per_second: 1 } })
  const answers = await Promise.all(Array.from({ length: 10 }, () => statusOf(machineToken(service, looper))))
  expect(answers).toContain(429)
  // A request that was answered may be recorded after one that was refused.
  const limited = explained('client_requests_per_second', 'limit_client')
  expect(await rows('client_connections', { client_id }, 'reasons')).toContainEqual(limited)
  expect(await statusOf(machineToken(service, robot))).toBe(200)
  await call('limit_client', { client_id, limits: { requests_per_second: null } })
  expect(await statusOf(machineToken(service, looper))).toBe(200)
})

test('limit_client takes no other member of a client', async () => {
  const { client_id } = await addClient(service)
  const args = { client_id, limits: null, redirect_uris: ['https://evil.example/cb'] }
  expect((await callTool(agent, 'limit_client', args)).answer['error_description']).toMatch(/^redirect_uris /)
  expect((await callTool(agent, 'limit_client', { client_id })).answer['error_description']).toBe('limits is required')
})

test('a refused redirect URI is shown beside the registered ones', async () => {
  const { client_id, redirect_uris } = await addClient(service)
  const redirect_uri = `${redirect_uris[0]}/`
  await new Browser().open(authorizeUrl(service, { client_id, redirect_uri }))
  const { connections, reasons } = await call('client_connections', { client_id })
  expect(reasons).toEqual([explained('unregistered_redirect_uri', 'find')])
  expect((connections as { steps: Row[] }[])[0]?.steps[0]?.['detail']).toContain(redirect_uri)
  expect((await rows('find', { query: client_id }, 'matches'))[0]).toMatchObject({ redirect_uris })
})

test('a disabled user: the refresh is refused for it, and enable_user ends that', async () => {
  const [client, user, resource] = [await addClient(service), await addUser(service), await addResource(service)]
  const { client_id } = client
  const asked = { resource: resource.uri, scope: 'mcp:read' }
  const first = await redeem(service, client, await authorize(service, client, user, asked))
  expect(await call('disable_user', { id: user.id })).toMatchObject({ dry_run: true, live: { sign_ins: 1 } })
  expect((await rows('find', { query: user.email }, 'matches'))[0]).toMatchObject({ status: 'active' })
  expect(await call('disable_user', { id: user.id, dry_run: false })).toMatchObject({ result: { status: 'disabled' } })
  expect(await statusOf(refresh(service, client, first.body['refresh_token']))).toBe(400)
  expect(await reasonOf(client_id)).toEqual(explained('user_inactive', 'enable_user'))
  expect((await rows('find', { query: user.email }, 'matches'))[0]).toMatchObject({ id: user.id, status: 'disabled' })
  const grant = { grant: 'authorization_code', client_id, user: user.email, ...asked }
  expect(await call('explain', grant)).toMatchObject({
    ok: false,
    steps: expect.arrayContaining([
      expect.objectContaining({ outcome: 'failed', change: expect.stringMatching(/enable/) }),
    ]),
  })
  await walk(service, authorizeUrl(service, { client_id, ...asked }), user).catch(() => {})
  expect((await rows('audit', { action: 'user_login_failed' }, 'events'))[0]).toMatchObject({
    action: 'user_login_failed',
  })
  await call('enable_user', { id: user.id })
  expect((await authorize(service, client, user, asked)).code).not.toBe('')
})

test('a provider that is away: its state and id, its keys again after the repair, and off when it is compromised', async () => {
  const { idp, idp_id: id, client, assertion, redeem: send } = await xaaScene(service)
  idp.answer = (_, response) => response.writeHead(503).end()
  expect(await statusOf(send(await assertion()))).toBe(503)
  expect(await reasonOf(client.client_id)).toEqual(explained('jwks_bad_response', 'status'))
  const { providers, reasons } = await call('status')
  expect(providers).toContainEqual(expect.objectContaining({ id, usable: false, reason: 'jwks_bad_response' }))
  expect(reasons).toEqual([explained('jwks_bad_response', 'status')])
  expect(await rows('doctor', {}, 'findings')).toContainEqual(
    expect.objectContaining({ check: 'provider', result: 'fail', fix: expect.stringContaining('refresh-keys') }),
  )
  const refused = await callTool(agent, 'refresh_provider_keys', { id })
  expect(refused.answer).toMatchObject({
    error: 'temporarily_unavailable',
    reason: expect.stringMatching(/bad_response$/),
  })
  delete idp.answer
  await call('refresh_provider_keys', { id })
  expect(await statusOf(send(await assertion()))).toBe(200)
  expect(await call('switch_provider', { id, enabled: false })).toMatchObject({ id, enabled: false })
  expect(await statusOf(send(await assertion()))).toBe(400)
  expect(await reasonOf(client.client_id)).toMatchObject({
    ...{ reason: 'issuer_disabled', fix: expect.stringContaining('enable') },
  })
  await call('switch_provider', { id, enabled: true })
  expect(await statusOf(send(await assertion()))).toBe(200)
})

test('a failing webhook is a finding with the answer of the receiver, the number of events, and what to do', async () => {
  const receiver = await TestReceiver.start()
  receiver.answer = (response) => response.writeHead(500).end()
  await okAdmin(service, 'POST', '/admin/webhooks', { url: receiver.url, events: ['client_suspended'] })
  const { client_id } = await addClient(service)
  await call('suspend_client', { client_id })
  await receiver.arrived(1)
  await expect
    .poll(() => rows('doctor', {}, 'findings'))
    .toContainEqual({
      check: 'receiver',
      result: 'fail',
      message: expect.stringMatching(/127\.0\.0\.1.* deliveries fail \(HTTP 500\), 1 event waits/),
      fix: expect.stringContaining('service admin webhook list'),
    })
})

test('a stolen secret: the client is stopped, its tokens are counted and then revoked', async () => {
  const client = await addClient(service)
  const { client_id } = client
  const token = await tokenOf(client)
  const [row] = await rows('issuances', { client_id }, 'issuances')
  expect(row).toMatchObject({ client_id, ip: expect.stringMatching(/127\.0\.0\.1/) })
  await call('suspend_client', { client_id })
  expect(await call('revoke_tokens', { client_id })).toMatchObject({ dry_run: true, tokens: 1 })
  expect(await call('decode_token', { token })).toMatchObject({ active: false, revoked: false })
  expect(await call('revoke_tokens', { client_id, dry_run: false })).toMatchObject({ dry_run: false, tokens: 1 })
  expect(await call('decode_token', { token })).toMatchObject({ active: false, revoked: true })
  expect(await statusOf(machineToken(service, client))).toBe(401)
  expect(await reasonOf(client_id)).toEqual(explained('client_suspended', 'reactivate_client'))
  await call('reactivate_client', { client_id })
  expect(await statusOf(machineToken(service, client))).toBe(200)
})

test('a compromised signing key: the next key and then the current one are revoked, and earlier tokens are inactive', async () => {
  const client = await addClient(service)
  const token = await tokenOf(client)
  const kidOf = async (status: string) =>
    (await rows('signing_keys', {}, 'keys')).find((each) => each['status'] === status)?.['kid']
  const [leaked, next] = [await kidOf('current'), await kidOf('next')]
  expect(await call('revoke_signing_key', { kid: leaked })).toMatchObject({ dry_run: true, kid: leaked })
  expect(await kidOf('current')).toBe(leaked)
  await call('revoke_signing_key', { kid: next, dry_run: false })
  const done = await call('revoke_signing_key', { kid: leaked, dry_run: false })
  expect([done['tokens'], [leaked, next].includes(done['current_kid'] as string)]).toEqual([expect.any(Number), false])
  expect(await call('decode_token', { token })).toMatchObject({ signature: 'unknown_key', active: false })
  expect(await statusOf(machineToken(service, client))).toBe(200)
})
