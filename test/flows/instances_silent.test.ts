// Two instances whose notifications are lost: changes of one instance apply at the other within the bound.
import { decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { STALE_MS } from '../../src/store/cache.ts'
import { okAdmin } from '../support/admin.ts'
import { authorize, introspect, isActive, machineToken, redeem, refresh, register } from '../support/flow.ts'
import { type Pair, startPair } from '../support/pair.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { addClient, addResource, addUser, SEALED, type TestService } from '../support/service.ts'
import { eventually } from '../support/wire.ts'

/** Time that the checks may need on a busy machine in addition to the bound. */
const MARGIN_MS = 1000

let server: PostgresServer
let pair: Pair
let a: TestService
let b: TestService
let notified = 0
beforeAll(async () => {
  server = await startPostgres()
  const dsn = await server.migrated()
  // Found before the one of the system, by the search path that the connections ask for.
  await server.sql(dsn, `CREATE FUNCTION public.pg_notify(text, text) RETURNS void LANGUAGE sql AS 'SELECT'`)
  const url = new URL(dsn)
  url.searchParams.set('options', '-c search_path=public,pg_catalog')
  pair = await startPair(url.href, {
    ...SEALED,
    SERVICE_STORAGE_POSTGRES_MAX_CONNS: '5',
    SERVICE_SIGNING_KEY_STORE: 'postgres_key',
    SERVICE_DCR_MODE: 'open',
  })
  ;({ a, b } = pair)
  const { default: pg } = await import('pg')
  const listener = new pg.Client({ connectionString: dsn })
  await listener.connect()
  listener.on('notification', () => notified++)
  await listener.query('LISTEN service_store')
  closeListener = () => listener.end()
})
let closeListener = async () => {}
afterAll(async () => {
  await closeListener()
  await pair.close()
  await server.close()
})

const withinBound = (check: () => Promise<boolean>) => eventually(check, STALE_MS + MARGIN_MS)
const jwksOf = async (at: TestService) =>
  ((await (await fetch(`${at.issuer}/.well-known/jwks.json`)).json()) as { keys: { kid: string }[] }).keys.map(
    ({ kid }) => kid,
  )

test('a suspended client is refused, and accepted again when it is reactivated', async () => {
  const client = await addClient(a)
  expect((await machineToken(b, client)).status).toBe(200)
  await okAdmin(a, 'PATCH', `/admin/clients/${client.client_id}/suspend`)
  await withinBound(async () => (await machineToken(b, client)).status === 401)
  await okAdmin(a, 'PATCH', `/admin/clients/${client.client_id}/reactivate`)
  await withinBound(async () => (await machineToken(b, client)).status === 200)
})

test('a changed registration mode applies', async () => {
  expect((await register(b)).status).toBe(201)
  await okAdmin(a, 'PATCH', '/admin/settings/dcr', { mode: 'admin_only' })
  await withinBound(async () => (await register(b)).status === 403)
})

test('a revoked consent ends refresh tokens, and a revoked token is inactive, at once, because both are read from the database', async () => {
  const [client, user, resource] = [await addClient(a), await addUser(a), await addResource(a)]
  const { body } = await redeem(a, client, await authorize(a, client, user, { resource: resource.uri }))
  expect(await isActive(b, client, body['access_token'])).toBe(true)
  const { consent_grants } = await okAdmin<{ consent_grants: { id: string }[] }>(
    a,
    'GET',
    `/admin/users/${user.id}/grants`,
  )
  await okAdmin(a, 'DELETE', `/admin/grants/consent/${consent_grants[0]?.id}`)
  expect(await isActive(b, client, body['access_token'])).toBe(false)
  expect((await refresh(b, client, body['refresh_token'])).body['error']).toBe('invalid_grant')
})

test('a user who is removed from a group loses access at once, and a resource that is restricted refuses users within the bound, at every grant', async () => {
  const client = await addClient(a)
  const [member, other] = [await addUser(a, { operator_groups: ['staff'] }), await addUser(a)]
  const access = { mode: 'restricted' as const, groups: ['staff'] }
  const [restricted, open] = [await addResource(a, { access }), await addResource(a)]
  const tokensAt = async (user: typeof member, { uri }: { uri: string }) =>
    (await redeem(b, client, await authorize(b, client, user, { resource: uri }))).body
  const [lost, closed] = [await tokensAt(member, restricted), await tokensAt(other, open)]
  for (const body of [lost, closed]) expect(await isActive(b, client, body['access_token'])).toBe(true)
  await okAdmin(a, 'PATCH', `/admin/users/${member.id}`, { groups: [] })
  await okAdmin(a, 'PATCH', `/admin/resources/${open.id}`, { access })
  expect(await isActive(b, client, lost['access_token'])).toBe(false)
  await withinBound(async () => !(await isActive(b, client, closed['access_token'])))
  for (const body of [lost, closed])
    expect((await refresh(b, client, body['refresh_token'])).body['error']).toBe('invalid_grant')
})

test('a key that a rotation makes current was published everywhere before, and signs everywhere within the bound', async () => {
  const client = await addClient(a)
  const kidAt = async (at: TestService) => {
    const { body } = await machineToken(at, client)
    return decodeProtectedHeader(String(body['access_token'])).kid
  }
  for (let round = 0; round < 2; round++) {
    const { current_kid } = await okAdmin<{ current_kid: string }>(a, 'POST', '/admin/keys/rotate')
    expect(await jwksOf(b)).toContain(current_kid)
    expect(await kidAt(a)).toBe(current_kid)
    await withinBound(async () => (await kidAt(b)) === current_kid)
  }
})

test('a revoked key leaves the JWKS of every instance within the bound, and its tokens are inactive', async () => {
  const client = await addClient(a)
  const token = String((await machineToken(b, client)).body['access_token'])
  const { kid = '' } = decodeProtectedHeader(token)
  await okAdmin(a, 'POST', `/admin/keys/${kid}/revoke`, { dry_run: false })
  await withinBound(async () => !(await jwksOf(b)).includes(kid))
  for (const at of [a, b]) expect(await introspect(at, client, token)).toEqual({ active: false })
})

test('no change was received by a notification', () => expect(notified).toBe(0))
