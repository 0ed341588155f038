// No secret gets into a log, a trace, a metric, the audit trail or the database: flows of every kind, at debug level, with
// everything exported. `npm run leaks` does the same with the flows and attacks of all other tests.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { dpop, proofKey } from '../support/dpop.ts'
import { actorOf, addExchanger, EXCHANGE, exchangeScene } from '../support/exchange.ts'
import { authorize, post, redeem, refresh, register } from '../support/flow.ts'
import { LeakWatch } from '../support/leaks.ts'
import {
  ADMIN_KEY,
  addClient,
  addResource,
  addUser,
  PASSWORD,
  startService,
  type TestService,
} from '../support/service.ts'
import { LOOPBACK, xaaScene } from '../support/xaa.ts'

const SESSION_SECRET = 'a-session-secret-of-more-than-32-bytes'
let watch: LeakWatch
let service: TestService
beforeAll(async () => {
  watch = await LeakWatch.start()
  service = await startService({ ...LOOPBACK, SERVICE_SESSION_SECRET: SESSION_SECRET, SERVICE_DCR_MODE: 'open' })
  for (const secret of [ADMIN_KEY, SESSION_SECRET, PASSWORD]) watch.note('configuration', secret)
})
afterAll(() => watch.end())

const tokenUrl = () => `${service.issuer}/oauth/token`

async function people(): Promise<void> {
  const [client, user, resource, key] = [
    await addClient(service),
    await addUser(service),
    await addResource(service),
    await proofKey(),
  ]
  const fields = { resource: resource.uri }
  const way = await authorize(service, client, user, fields)
  const first = await redeem(service, client, way, {})
  expect(first.status).toBe(200)
  expect((await redeem(service, client, way)).status).toBe(400)
  const bound = await authorize(service, client, user, fields, way.browser)
  const proof = await dpop(service, key)
  const form = { grant_type: 'authorization_code', code: bound.code, code_verifier: bound.verifier }
  expect(
    (await post(tokenUrl(), client, { ...form, redirect_uri: 'https://client.example.com/callback' }, proof)).status,
  ).toBe(200)
  await post(tokenUrl(), client, form, proof)

  const again = await authorize(service, client, user, fields, way.browser)
  const { refresh_token, access_token } = (await redeem(service, client, again)).body
  expect((await refresh(service, client, refresh_token)).status).toBe(200)
  expect((await refresh(service, client, refresh_token)).status).toBe(400)
  for (const path of ['introspect', 'revoke'])
    for (const token of [access_token, refresh_token, 'made-up-token-that-nobody-has'])
      await post(`${service.issuer}/oauth/${path}`, client, { token: String(token) })
  await way.browser.post(`${service.issuer}/login`, { email: user.email ?? '', password: 'a wrong but long password' })
  await way.browser.post(`${service.issuer}/logout`, {})
}

async function machines(): Promise<void> {
  const client = await addClient(service)
  const grant_type = 'client_credentials'
  expect((await post(tokenUrl(), client, { grant_type })).status).toBe(200)
  expect(
    (await post(tokenUrl(), { ...client, client_secret: `${client.client_secret}x` }, { grant_type })).status,
  ).toBe(401)
  await post(`${tokenUrl()}?client_secret=${client.client_secret}&grant_type=${grant_type}`, undefined, {})
  await post(tokenUrl(), client, { grant_type, scope: `${client.client_secret}` })
  await post(tokenUrl(), client, { grant_type, resource: `https://x.example.com/?token=${client.client_secret}` })

  const { exchanged, user, target } = await exchangeScene(service)
  expect((await exchanged({ scope: 'mcp:read' })).status).toBe(200)
  const gateway = await addExchanger(service)
  const actor = await actorOf(service, gateway)
  await post(tokenUrl(), gateway, {
    grant_type: EXCHANGE,
    ...actor,
    actor_token: String(actor.actor_token),
    subject_token: user.id,
    resource: target.uri,
  })

  const scene = await xaaScene(service)
  expect((await scene.redeem(await scene.assertion())).status).toBe(200)
  await scene.redeem(await scene.assertion({ claims: { aud: 'https://elsewhere.example.com' } }))
  await scene.redeem(`${await scene.assertion()}x`)
  scene.idp.close()
}

async function operators(): Promise<void> {
  const created = await okAdmin<{ client_id: string; client_secret: string }>(service, 'POST', '/admin/clients', {
    client_name: 'Created by an operator',
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'client_secret_basic',
  })
  await okAdmin(service, 'POST', `/admin/clients/${created.client_id}/rotate-secret`)
  const email = 'someone@example.com'
  const body = { email, name: 'Someone', password: 'a long password of an operator' }
  const { id } = await okAdmin<{ id: string }>(service, 'POST', '/admin/users', body)
  await callAdmin(service, 'POST', `/admin/users/${id}/reset-password`, { password: 'another long password of hers' })
  await callAdmin(service, 'POST', '/admin/users', `{"password": "a password in a broken body", `)
  await callAdmin(service, 'GET', '/admin/clients', undefined, { authorization: 'Bearer a-wrong-admin-key-0123456789' })
  await callAdmin(service, 'GET', '/admin/system/config')
  await callAdmin(service, 'POST', '/admin/keys/rotate')
  await register(service, { token_endpoint_auth_method: 'client_secret_post' })
}

/** What breaks is logged with its cause. */
async function failures(): Promise<void> {
  const { store } = service.app
  const recordIssuance = store.recordIssuance
  const client = await addClient(service)
  Object.assign(store, { recordIssuance: () => Promise.reject(new Error('the disk is on fire')) })
  service.app.metrics.count('core_key_rotation_total')
  await post(tokenUrl(), client, { grant_type: 'client_credentials' })
  Object.assign(store, { recordIssuance })
}

test('no secret of any flow occurs in a log, a trace, a metric, an audit event or the database', async () => {
  await people()
  await machines()
  await operators()
  await failures()
  await service.close()

  const kinds = new Set(watch.secrets.values())
  for (const kind of [
    'access_token',
    'refresh_token',
    'client_secret',
    'password',
    'code',
    'code_verifier',
    'cookie',
    'proof',
    'subject_token',
    'assertion',
  ])
    expect(kinds, kind).toContain(kind)
  expect(watch.secrets.size).toBeGreaterThan(40)
  expect(watch.text('log').split('\n').length).toBeGreaterThan(50)
  expect(watch.text('metrics')).toContain('core_tokens_issued_total{')
  expect(watch.text('database')).toContain('SQLite format 3')
  expect(watch.collector.spans.length).toBeGreaterThan(100)
  expect(watch.collector.logs.length).toBeGreaterThan(50)
  expect(watch.collector.metrics.length).toBeGreaterThan(40)
  expect(watch.findings()).toEqual([])
})

test('the check finds a secret where one was put', () => {
  watch.note('planted', 'https://client.example.com/callback')
  expect(watch.findings().map((line) => line.split(':')[0])).toContain('planted in the database')
})
