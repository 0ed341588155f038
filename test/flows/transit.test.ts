// A whole service whose signing key is in a transit engine: tokens, rotation, an outage of the store, automatic recovery.
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'
import { afterEach, describe, expect, test } from 'vitest'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { authorize, introspect, machineToken, redeem } from '../support/flow.ts'
import { startPair } from '../support/pair.ts'
import { startPostgres } from '../support/postgres.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'
import { ROOT, startTransit, type TransitServer } from '../support/transit_server.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})

async function setUp({ alg = 'ES256' }: { alg?: string } = {}) {
  let ahead = 0
  const store = await startTransit({ now: () => Math.floor(Date.now() / 1000) + ahead })
  open.push(store)
  const service = await startService({
    SERVICE_SIGNING_KEY_STORE: 'secretstore_transit',
    SERVICE_SIGNING_ALGORITHM: alg,
    SERVICE_VAULT_ADDR: store.address,
    SERVICE_VAULT_APPROLE_ROLE_ID: store.role.role_id,
    SERVICE_VAULT_APPROLE_SECRET_ID: store.role.secret_id,
  })
  open.push(service)
  const advance = (seconds: number) => {
    ahead += seconds
    service.advance(seconds)
  }
  return { store, service, advance, client: await addClient(service) }
}
const verify = async (service: TestService, token: unknown) => {
  const keys = (await (await fetch(`${service.issuer}/.well-known/jwks.json`)).json()) as JSONWebKeySet
  return jwtVerify(String(token), createLocalJWKSet(keys), { issuer: service.issuer, typ: 'at+jwt' })
}
const issuances = async (service: TestService) =>
  (await okAdmin<{ total_count: number }>(service, 'GET', '/admin/issuances')).total_count

/** Ends an outage, and the pause of the breaker. */
function recover(store: TransitServer, advance: (seconds: number) => void) {
  store.fault = undefined
  advance(10)
}

describe('a service with its key in a transit engine', () => {
  test.each(['ES256', 'RS256'])(
    'issues tokens (%s) that verify with its JWKS and are active at introspection',
    async (alg) => {
      const { service, client } = await setUp({ alg })
      const { status, body } = await machineToken(service, client)
      expect(status).toBe(200)
      const { protectedHeader } = await verify(service, body['access_token'])
      expect(protectedHeader).toEqual({ typ: 'at+jwt', alg, kid: 'service-signing-v1' })
      expect(await introspect(service, client, body['access_token'])).toMatchObject({
        active: true,
        client_id: client.client_id,
      })
    },
  )

  test('the admin API rotates the key in the engine, and tokens of both versions are valid', async () => {
    const { store, service, client } = await setUp()
    const before = (await machineToken(service, client)).body['access_token']
    expect(await okAdmin(service, 'POST', '/admin/keys/rotate')).toMatchObject({
      current_kid: 'service-signing-v2',
      previous_kid: 'service-signing-v1',
    })
    expect(store.engine.keys.get('service-signing')?.latest).toBe(3)
    const after = (await machineToken(service, client)).body['access_token']
    expect((await verify(service, after)).protectedHeader.kid).toBe('service-signing-v2')
    await verify(service, before)
    expect(await okAdmin(service, 'GET', '/admin/keys')).toMatchObject({
      keys: [
        { kid: 'service-signing-v2', status: 'current' },
        { kid: 'service-signing-v1', status: 'previous' },
        { kid: 'service-signing-v3', status: 'next' },
      ],
    })
    expect((await eventsOf(service, 'key_rotated')).length).toBe(1)
  })

  test('the admin API revokes a version in the engine, and the tokens that it signed', async () => {
    const { store, service, client } = await setUp()
    const token = (await machineToken(service, client)).body['access_token']
    expect(await okAdmin(service, 'POST', '/admin/keys/service-signing-v1/revoke', {})).toMatchObject({
      current_kid: 'service-signing-v2',
      tokens: 1,
    })
    expect(store.engine.keys.get('service-signing')?.min_decryption_version).toBe(2)
    await expect(verify(service, token)).rejects.toThrow()
    expect(await introspect(service, client, token)).toEqual({ active: false })
    await verify(service, (await machineToken(service, client)).body['access_token'])
  })

  test('the service works beyond the lease of its token, and beyond the maximum of the store', async () => {
    const { store, service, client, advance } = await setUp()
    store.lease = { seconds: 1200, max: 2000, renewable: true }
    for (let i = 0; i < 6; i++) {
      advance(700)
      expect((await machineToken(service, client)).status, `after ${(i + 1) * 700} s`).toBe(200)
    }
    expect(store.count('POST auth/approle/login')).toBeGreaterThan(1)
  })
})

describe('while the store is unavailable', () => {
  test.each(['sealed', 'cut'] as const)(
    '(%s) token requests get 503 with Retry-After, and succeed again without a restart',
    async (fault) => {
      const { store, service, client, advance } = await setUp()
      const good = (await machineToken(service, client)).body['access_token']
      const issued = await issuances(service)
      store.fault = fault
      for (let i = 0; i < 7; i++) {
        const { status, headers, body } = await machineToken(service, client)
        expect([status, body['error']]).toEqual([503, 'temporarily_unavailable'])
        expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
      }
      // Requests that need no signature work.
      await verify(service, good)
      expect(await introspect(service, client, good)).toMatchObject({ active: true })
      expect(await okAdmin(service, 'GET', '/admin/system/status')).toMatchObject({
        subsystems: expect.arrayContaining([{ name: 'signing', status: 'unhealthy', driver: 'secretstore_transit' }]),
      })
      expect((await callAdmin(service, 'POST', '/admin/keys/rotate')).status).toBe(503)
      expect(await issuances(service)).toBe(issued)
      recover(store, advance)
      await verify(service, (await machineToken(service, client)).body['access_token'])
    },
  )

  test('a code is not consumed, and can be redeemed afterwards', async () => {
    const { store, service, client, advance } = await setUp()
    const [user, resource] = [await addUser(service), await addResource(service)]
    const authorized = await authorize(service, client, user, { resource: resource.uri })
    store.fault = 'sealed'
    expect((await redeem(service, client, authorized)).status).toBe(503)
    recover(store, advance)
    const { status, body } = await redeem(service, client, authorized)
    expect(status).toBe(200)
    await verify(service, body['access_token'])
  })
})

describe('two instances', () => {
  test('two instances notify each other of key changes through the database', async () => {
    const server = await startPostgres()
    open.push(server)
    let ahead = 0
    const store = await startTransit({ now: () => Math.floor(Date.now() / 1000) + ahead })
    open.push(store)
    const pair = await startPair(await server.migrated(), {
      SERVICE_SIGNING_KEY_STORE: 'secretstore_transit',
      SERVICE_VAULT_ADDR: store.address,
      SERVICE_VAULT_TOKEN: ROOT,
    })
    open.push(pair)
    const { a, b } = pair
    const client = await addClient(a)
    const kidAt = (at: TestService) => at.app.keyring.current().kid
    const heard = (kid: string) => expect.poll(() => kidAt(b), { timeout: 5000 }).toBe(kid)

    // The next version must be older than the time that verifiers need to load it.
    ahead += 20
    a.advance(20)
    await okAdmin(a, 'POST', '/admin/keys/rotate')
    expect(kidAt(a)).toBe('service-signing-v2')
    await heard('service-signing-v2')
    const token = (await machineToken(a, client)).body['access_token']
    expect(await introspect(b, client, token)).toMatchObject({ active: true })

    await okAdmin(a, 'POST', '/admin/keys/service-signing-v2/revoke', {})
    await heard('service-signing-v3')
    expect(await introspect(b, client, token)).toEqual({ active: false })
    const jwks = async (at: TestService) =>
      (await fetch(`http://127.0.0.1${at.app.config.server.address}/.well-known/jwks.json`)).json()
    expect(await jwks(b)).toEqual(await jwks(a))
  })
})

describe('a start', () => {
  test('a start without the store fails with the setting and the address', async () => {
    const start = startService({
      SERVICE_SIGNING_KEY_STORE: 'secretstore_transit',
      SERVICE_VAULT_ADDR: 'http://127.0.0.1:9',
      SERVICE_VAULT_TOKEN: 'some-token',
    })
    await expect(start).rejects.toThrow(/^signing\.secretstore_transit: 127\.0\.0\.1:9: .*connect_failed/)
  })
})
