// Several front threads on one port: the rules hold whichever thread accepts a connection.
import { decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { okAdmin } from '../support/admin.ts'
import { Browser } from '../support/browser.ts'
import { dpop, proofKey } from '../support/dpop.ts'
import { authorize, refresh, register, signIn } from '../support/flow.ts'
import { basic, type FreshAnswer, fresh, MANY, spread, tally } from '../support/fronts.ts'
import { idpKey } from '../support/idp.ts'
import { silentLog } from '../support/log.ts'
import { addClient, addResource, addUser, REDIRECT_URI, startService, type TestService } from '../support/service.ts'
import { JWT_BEARER, LOOPBACK, trust, xaaScene } from '../support/xaa.ts'

type Client = Awaited<ReturnType<typeof addClient>>
const statuses = (answers: readonly FreshAnswer[]) => tally(answers.map(({ status }) => status))
const machine = { grant_type: 'client_credentials' }

describe.each([2, 4])('%i front threads', (threads) => {
  let at: TestService
  beforeAll(async () => {
    at = await startService({ ...LOOPBACK, SERVICE_SERVER_FRONT_THREADS: String(threads), SERVICE_DCR_MODE: 'open' })
  })
  afterAll(() => at.close())

  const token = (client: Client, fields: Record<string, string> = machine, headers = {}) =>
    fresh(at, '/oauth/token', fields, { ...basic(client), ...headers })
  const metric = async (pattern: RegExp) => {
    const text = await (await fetch(`${at.admin}/metrics`)).text()
    return [...text.matchAll(new RegExp(pattern, 'gm'))].map(([, value]) => Number(value))
  }
  const total = async (pattern: RegExp) => (await metric(pattern)).reduce((sum, value) => sum + value, 0)

  test('all front threads serve, and every request is counted once', async () => {
    const client = await addClient(at)
    const REQUESTS = /^core_http_requests_total\{.*path="\/oauth\/token".*\} (\d+)$/
    const ISSUED = /^core_tokens_issued_total\{grant_type="client_credentials"\} (\d+)$/
    const SECONDS = /^core_http_request_duration_seconds_count\{.*path="\/oauth\/token".*\} (\d+)$/
    const THREADS = /^ext_front_requests_total\{thread="\d+"\} (\d+)$/
    const before = await Promise.all([REQUESTS, ISSUED, SECONDS, THREADS].map(total))
    const by = await metric(THREADS)
    expect(statuses(await spread(() => token(client)))).toEqual({ 200: MANY })
    for (let scrape = 0; scrape < 3; scrape++) {
      const after = await Promise.all([REQUESTS, ISSUED, SECONDS, THREADS].map(total))
      expect(after.map((value, i) => value - (before[i] as number))).toEqual([MANY, MANY, MANY, MANY])
    }
    const each = (await metric(THREADS)).map((value, i) => value - (by[i] as number))
    expect(each).toHaveLength(threads)
    expect(Math.min(...each)).toBeGreaterThan(0)
    const { front_threads } = await okAdmin<{ front_threads: object[] }>(at, 'GET', '/admin/system/status')
    expect(front_threads).toHaveLength(threads)
  })

  describe('single-use values', () => {
    test('E02 of one proof on many concurrent connections exactly one is accepted', async () => {
      const client = await addClient(at)
      for (let round = 0; round < 3; round++) {
        const proof = await dpop(at, await proofKey())
        const answers = await spread(() => token(client, machine, proof), 16)
        expect(statuses(answers)).toEqual({ 200: 1, 400: 15 })
        expect(answers.filter(({ body }) => body['error'] === 'invalid_dpop_proof')).toHaveLength(15)
      }
    })

    test('one assertion on many concurrent connections is accepted exactly once', async () => {
      const scene = await xaaScene(at)
      const assertion = await scene.assertion()
      const answers = await spread(() => token(scene.client, { grant_type: JWT_BEARER, assertion }), 16)
      expect(statuses(answers)).toEqual({ 200: 1, 400: 15 })
    })

    test('B07 a code is redeemed once, and D02 a refresh token is rotated once and its second use revokes the family', async () => {
      const [client, user, resource] = [await addClient(at), await addUser(at), await addResource(at)]
      const { code, verifier } = await authorize(at, client, user, { resource: resource.uri })
      const redemption = {
        grant_type: 'authorization_code',
        code,
        code_verifier: verifier,
        redirect_uri: REDIRECT_URI,
      }
      expect(statuses(await spread(() => token(client, redemption), 16))).toEqual({ 200: 1, 400: 15 })

      const again = await authorize(at, client, user, { resource: resource.uri })
      const redeemed = await token(client, { ...redemption, code: again.code, code_verifier: again.verifier })
      const rotation = { grant_type: 'refresh_token', refresh_token: String(redeemed.body['refresh_token']) }
      const rotated = await spread(() => token(client, rotation), 16)
      expect(statuses(rotated)).toEqual({ 200: 1, 400: 15 })
      const next = rotated.find(({ status }) => status === 200)?.body['refresh_token']
      expect((await refresh(at, client, next)).body['error']).toBe('invalid_grant')
    })
  })

  describe('a change of an operator applies at every thread when the operator is answered', () => {
    test('a suspended client is refused at every thread, and accepted again after its reactivation', async () => {
      const client = await addClient(at)
      expect(statuses(await spread(() => token(client)))).toEqual({ 200: MANY })
      for (let round = 0; round < 2; round++) {
        await okAdmin(at, 'PATCH', `/admin/clients/${client.client_id}/suspend`)
        expect(statuses(await spread(() => token(client)))).toEqual({ 401: MANY })
        await okAdmin(at, 'PATCH', `/admin/clients/${client.client_id}/reactivate`)
        expect(statuses(await spread(() => token(client)))).toEqual({ 200: MANY })
      }
    })

    test('a new resource is known at every thread', async () => {
      const client = await addClient(at)
      const uri = `https://${client.client_id.toLowerCase()}.example.com/mcp`
      const ask = () => token(client, { ...machine, resource: uri, scope: 'mcp:read' })
      expect(statuses(await spread(ask))).toEqual({ 400: MANY })
      await addResource(at, { uri })
      expect(statuses(await spread(ask))).toEqual({ 200: MANY })
    })

    test('a revoked token is inactive at every thread', async () => {
      const client = await addClient(at)
      const issued = { token: String((await token(client)).body['access_token']) }
      const ask = () => fresh(at, '/oauth/introspect', issued, basic(client))
      const active = async () => tally((await spread(ask)).map(({ body }) => body['active']))
      expect(await active()).toEqual({ true: MANY })
      expect((await fresh(at, '/oauth/revoke', issued, basic(client))).status).toBe(200)
      expect(await active()).toEqual({ false: MANY })
    })

    test('a rotated key signs, and a revoked key is refused, at every thread', async () => {
      const client = await addClient(at)
      const kids = async () =>
        tally(
          (await spread(() => token(client))).map(
            ({ body }) => decodeProtectedHeader(String(body['access_token'])).kid,
          ),
        )
      const published = async () =>
        tally(
          (await spread(() => fresh(at, '/.well-known/jwks.json'))).map(({ body }) =>
            (body['keys'] as { kid: string }[]).map(({ kid }) => kid),
          ),
        )
      const old = String((await token(client)).body['access_token'])
      const { current_kid, previous_kid } = await okAdmin(at, 'POST', '/admin/keys/rotate')
      expect(await kids()).toEqual({ [String(current_kid)]: MANY })
      const { keys } = await okAdmin<{ keys: { kid: string; status: string }[] }>(at, 'GET', '/admin/keys')
      const next = keys.find(({ status }) => status === 'next')?.kid
      expect(await published()).toEqual({ [`${current_kid},${previous_kid},${next}`]: MANY })
      await okAdmin(at, 'POST', `/admin/keys/${previous_kid}/revoke`, {})
      expect(await published()).toEqual({ [`${current_kid},${next}`]: MANY })
      const ask = () => fresh(at, '/oauth/introspect', { token: old }, basic(client))
      expect(tally((await spread(ask)).map(({ body }) => body['active']))).toEqual({ false: MANY })
    })

    test('a self-registered client is known at every thread, until the registration mode is closed', async () => {
      const come = () => register(at, { token_endpoint_auth_method: 'none' }, { connection: 'close' })
      const registered = await come()
      expect(registered.status).toBe(201)
      const { client_id } = (await registered.json()) as { client_id: string }
      const refused = await spread(() => fresh(at, '/oauth/token', { grant_type: 'refresh_token', client_id }), MANY)
      expect(statuses(refused)).toEqual({ 400: MANY })
      await okAdmin(at, 'PATCH', '/admin/settings/dcr', { mode: 'admin_only' })
      expect(tally((await spread(come, 16)).map(({ status }) => status))).toEqual({ 403: 16 })
      await okAdmin(at, 'PATCH', '/admin/settings/dcr', { mode: 'open' })
    })

    test('refreshed keys of an identity provider are used at every thread', async () => {
      const scene = await xaaScene(at)
      const before = scene.idp.key
      const redeem = async () =>
        token(scene.client, { grant_type: JWT_BEARER, assertion: await scene.assertion({}, before) })
      expect(statuses(await spread(redeem, 32))).toEqual({ 200: 32 })
      scene.idp.keys = [await idpKey()]
      await okAdmin(at, 'POST', `/admin/idps/${scene.idp_id}/refresh-keys`)
      expect(statuses(await spread(redeem, 32))).toEqual({ 400: 32 })
    })
  })

  test('writes of another process are visible at every thread within two seconds', async () => {
    const client = await addClient(at)
    expect(statuses(await spread(() => token(client)))).toEqual({ 200: MANY })
    const { storage } = at.app.config
    const elsewhere = await openStore(storage, {
      log: silentLog,
      metrics: new Metrics(),
      now: at.app.clock.now(),
      creates: false,
    })
    const stored = await elsewhere.findClient({ client_id: client.client_id })
    if (!stored) return expect.fail('not stored')
    await elsewhere.updateClient({ ...stored, status: 'suspended' })
    await elsewhere.driver.close()
    await expect
      .poll(async () => statuses(await spread(() => token(client))), { timeout: 20_000 })
      .toEqual({ 401: MANY })
  })

  test('failed logins of an address are counted together, also concurrent ones', async () => {
    const user = await addUser(at)
    const attempt = async () => {
      const browser = new Browser()
      const page = await browser.follow(`${at.issuer}/login`)
      return (await signIn(at, browser, page, user.email, 'wrong password')).status
    }
    const results = tally(await spread(attempt, 24))
    expect(results).toEqual({ 422: 10, 429: 14 })
  })

  test('the status shows an identity provider whose keys no thread can fetch', async () => {
    const issuer = 'http://127.0.0.1:1'
    await trust(at, { issuer, jwks_uri: `${issuer}/jwks.json` })
    const { providers } = await okAdmin<{ providers: unknown[] }>(at, 'GET', '/admin/system/status')
    expect(providers).toContainEqual({
      id: expect.any(String),
      slug: issuer,
      use: 'assertions',
      issuer,
      usable: false,
      keys: 0,
      reason: 'jwks_connect_failed',
      since: expect.stringMatching(/^20/),
    })
  })

  test('the activity of a client is one sequence, whichever threads served it', async () => {
    const client = await addClient(at)
    await spread(() => token(client), 20)
    await token({ ...client, client_secret: 'wrong' })
    await expect
      .poll(
        async () => {
          const [trail] = await okAdmin<{ steps: { step: string; status: number; count: number }[] }[]>(
            at,
            'GET',
            `/admin/connections?client_id=${client.client_id}`,
          )
          return trail?.steps.map(({ step, status, count }) => `${step} ${status} ${count}`)
        },
        { timeout: 20_000 },
      )
      .toEqual(['token 200 20', 'token 401 1'])
  })
})

test('the rate limit of requests applies to all threads together', async () => {
  const at = await startService({
    SERVICE_SERVER_FRONT_THREADS: '2',
    SERVICE_RATE_LIMIT_ENABLED: 'true',
    SERVICE_RATE_LIMIT_REQUESTS_PER_SECOND: '1',
    SERVICE_RATE_LIMIT_BURST: '20',
  })
  try {
    const startedMs = performance.now()
    const answers = statuses(await spread(() => fresh(at, '/.well-known/oauth-authorization-server')))
    const refilled = Math.ceil((performance.now() - startedMs) / 1000)
    expect(answers['200']).toBeGreaterThanOrEqual(20)
    expect(answers['200']).toBeLessThanOrEqual(20 + refilled)
  } finally {
    await at.close()
  }
})
