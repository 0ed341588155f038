// A name server that does not answer for some names: names that strangers choose, and names that operators configure. Requests with other names work.
// The service is a process with a resolv.conf of its own, so that glibc and c-ares are the real ones.
import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, onTestFinished, test } from 'vitest'
import { digest, newSecret } from '../../src/lib/id.ts'
import { fieldsOf } from '../support/browser.ts'
import { Collector } from '../support/collector.ts'
import { LOCAL_DOCUMENTS } from '../support/documents.ts'
import { ACCESS_TOKEN, EXCHANGE } from '../support/exchange.ts'
import { type Answer, machineToken, post } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { TestIdp } from '../support/idp.ts'
import { type Placed, placed } from '../support/instances.ts'
import { type NameServer, startPrivateNames, whyNoNamespace } from '../support/name_server.ts'
import { startPostgres } from '../support/postgres.ts'
import { REDIRECT_URI, SEALED } from '../support/service.ts'
import { ROOT, startTransit } from '../support/transit_server.ts'
import { Upstream } from '../support/upstream.ts'
import { JWT_BEARER } from '../support/xaa.ts'
import { authorizeUrl, newMachine, openScene, operate, RESOURCE, type Scene } from '../torture/scene.ts'

const missing = whyNoNamespace()
const LOCAL = ['127.0.0.1']
const FILES = 'https://files.example.com/api'
/** Generous: a look-up that hangs takes 10 s with this resolv.conf, and a queue behind it a multiple. The figure is below 2 s. */
const DEADLINE_MS = 5000
const named = (url: string, name: string) => url.replace('127.0.0.1', name)

interface Parts extends Scene {
  at: Placed
  names: NameServer
  /** Each requests another peer that an operator configured by name. */
  sign(): Promise<Answer>
  vend(): Promise<Answer>
  redeem(): Promise<Answer>
}

/** A service whose secret store, broker provider and identity provider are found by name. */
async function running(env: Record<string, string> = {}): Promise<Parts> {
  const { server: names, prefix } = await startPrivateNames()
  for (const name of ['vault.test', 'provider.test', 'idp.test', 'collector.test']) names.names.set(name, LOCAL)
  const [store, upstream, idp] = [await startTransit(), await Upstream.start(), await TestIdp.start()]
  onTestFinished(() => store.close())
  let vended = 0
  upstream.answer = (_, response) =>
    response
      .writeHead(200, { 'content-type': 'application/json' })
      // Too short to be kept.
      .end(JSON.stringify({ access_token: `up-${++vended}`, token_type: 'bearer', expires_in: 5, scope: 'up.read' }))
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const at = await placed(
    tempFolder(),
    {
      ...LOCAL_DOCUMENTS,
      ...SEALED,
      SERVICE_CIMD_FETCH_TIMEOUT: '10s',
      SERVICE_SIGNING_KEY_STORE: 'secretstore_transit',
      SERVICE_VAULT_ADDR: named(store.address, 'vault.test'),
      SERVICE_VAULT_TOKEN: ROOT,
      CONNECTOR_ACCOUNT_KEY: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      ...env,
    },
    { prefix },
  )
  await at.instance.start()
  const scene = await openScene(at.issuer, at.admin)
  const { admin, issuer, gateway, machine, app, browser } = scene
  const create = <R>(path: string, body: object) => operate<R>(admin, 'POST', path, body)

  const { id } = await create<{ id: string }>('idps', {
    issuer: idp.issuer,
    jwks_uri: named(idp.jwks_uri, 'idp.test'),
  })
  await create('xaa/policies', { idp_id: id, client_ids: [gateway.client_id], resources: [RESOURCE] })
  await create('broker-providers', {
    slug: 'drive',
    display_name: 'Drive',
    protocol: 'service_account',
    config_data: {
      token_url: `${named(upstream.url, 'provider.test')}/token`,
      sa_email: 'service@example.com',
      sa_key_ref: 'CONNECTOR_ACCOUNT_KEY',
      algorithm: 'ES256',
      impersonate: 'account',
    },
  })
  await create('resources', {
    slug: 'files',
    uri: FILES,
    backend_kind: 'broker',
    broker_provider_slug: 'drive',
    scopes: [{ name: 'mcp:read', upstream: 'up.read' }],
    policy: { exchange: { allowed_client_ids: [gateway.client_id] } },
  })

  const verifier = newSecret()
  // Not for a resource, so that it may be exchanged for any resource.
  const url = new URL(authorizeUrl(issuer, scene, '', digest(verifier)))
  url.searchParams.delete('resource')
  let page = await browser.follow(url.href)
  if (page.text.includes('value="allow"'))
    page = await browser.post(`${issuer}/consent`, [...fieldsOf(page), ['action', 'allow']])
  const code = new URL(page.location ?? '').searchParams.get('code') ?? ''
  const form = { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: REDIRECT_URI }
  const { access_token } = (await post(`${issuer}/oauth/token`, app, form)).body

  const asGateway = (fields: Record<string, string>) => post(`${issuer}/oauth/token`, gateway, fields)
  return {
    ...{ ...scene, at, names },
    sign: () => machineToken({ issuer }, machine),
    vend: () =>
      asGateway({
        grant_type: EXCHANGE,
        subject_token: String(access_token),
        subject_token_type: ACCESS_TOKEN,
        resource: FILES,
        scope: 'mcp:read',
      }),
    async redeem() {
      const now = Math.floor(Date.now() / 1000)
      const assertion = await idp.assertion({ aud: issuer, client_id: gateway.client_id, now })
      return asGateway({ grant_type: JWT_BEARER, assertion, resource: RESOURCE })
    },
  }
}

/** Requests everything that needs a configured peer. Returns the longest duration. */
async function allAnswer({ sign, vend, redeem }: Parts): Promise<number> {
  const answered = async (what: string, work: () => Promise<Answer>) => {
    const startedMs = performance.now()
    const answer = await work()
    const tookMs = performance.now() - startedMs
    expect([what, answer.status, tookMs < DEADLINE_MS ? 'in time' : tookMs], JSON.stringify(answer.body)).toEqual([
      what,
      200,
      'in time',
    ])
    return tookMs
  }
  const rounds: number[] = []
  for (let round = 0; round < 3; round++)
    rounds.push(...(await Promise.all([answered('sign', sign), answered('vend', vend), answered('redeem', redeem)])))
  return Math.max(...rounds)
}

/** Requests authorization for clients whose documents have names that hang. */
const strangers = ({ issuer }: Parts, count: number) =>
  Array.from({ length: count }, (_, i) => {
    const query = new URLSearchParams({ response_type: 'code', client_id: `http://hang-${i}.test/client.json` })
    return fetch(`${issuer}/oauth/authorize?${query}`).then(
      ({ status }) => status,
      () => 0,
    )
  })

describe.skipIf(missing)(`names that are not answered${missing ? ` (left out: ${missing})` : ''}`, () => {
  test('signing, vends and ID-JAG work while lookups of names that clients chose hang', async () => {
    const parts = await running()
    const asked = strangers(parts, 100)
    await expect.poll(() => parts.names.asked.filter((name) => name.startsWith('hang-')).length).toBeGreaterThan(3)
    await allAnswer(parts)
    expect((await Promise.all(asked)).filter((status) => status !== 400 && status !== 503)).toEqual([])
  })

  test('with front threads they work while the name of a collector hangs too, and the other collector receives its data', async () => {
    const collector = await Collector.start()
    onTestFinished(() => collector.close())
    const hanging = 'hang-collector.test:4317'
    const parts = await running({
      // Each of them sends traces, and asks providers by itself.
      SERVICE_SERVER_FRONT_THREADS: '3',
      SERVICE_METRICS_PROVIDER: 'both',
      SERVICE_METRICS_OTEL_ENDPOINT: hanging,
      SERVICE_METRICS_INSECURE: 'true',
      SERVICE_TRACING_ENABLED: 'true',
      SERVICE_TRACING_ENDPOINT: hanging,
      SERVICE_TRACING_INSECURE: 'true',
      SERVICE_LOG_OTEL: 'true',
      SERVICE_LOG_OTEL_ENDPOINT: named(collector.endpoint, 'collector.test'),
      SERVICE_LOG_OTEL_INSECURE: 'true',
      OTEL_METRIC_EXPORT_INTERVAL: '200',
    })
    const asked = strangers(parts, 100)
    await allAnswer(parts)
    await expect.poll(() => collector.logs.length, { timeout: DEADLINE_MS }).toBeGreaterThan(0)
    expect(parts.names.asked).toContain('hang-collector.test')
    await Promise.all(asked)
  })

  test('when the name server does not answer at all, known names keep their last addresses', async () => {
    const parts = await running()
    await allAnswer(parts)
    parts.names.silent = true
    await allAnswer(parts)
    const asked = strangers(parts, 20)
    await allAnswer(parts)
    await Promise.all(asked)
  })

  test('connections to PostgreSQL that are lost while its name hangs are opened again', async () => {
    const server = await startPostgres({ mayBeShared: false })
    onTestFinished(() => server.close())
    const dsn = await server.database()
    const { server: names, prefix } = await startPrivateNames()
    names.names.set('db.test', LOCAL)
    const storage = { SERVICE_STORAGE_DRIVER: 'postgres', SERVICE_STORAGE_POSTGRES_DSN: named(dsn, 'db.test') }
    const at = await placed(tempFolder(), storage, { prefix })
    await at.instance.start()
    const machine = await newMachine(at.admin, ['client_credentials'])
    expect((await machineToken(at, machine)).status).toBe(200)
    names.silent = true
    await server.sql(
      dsn,
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()',
    )
    await expect.poll(async () => (await machineToken(at, machine)).status, { timeout: 2 * DEADLINE_MS }).toBe(200)
    await at.instance.kill()
  })
})
