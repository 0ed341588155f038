// Two instances on one PostgreSQL: changes of one instance apply at the other.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { okAdmin } from '../support/admin.ts'
import { Browser } from '../support/browser.ts'
import { dpop, proofKey } from '../support/dpop.ts'
import {
  type Answer,
  authorize,
  introspect,
  isActive,
  machineToken,
  post,
  redeem,
  refresh,
  register,
  signIn,
} from '../support/flow.ts'
import { type Pair, startPair } from '../support/pair.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { addClient, addResource, addUser, type TestService } from '../support/service.ts'
import { eventually } from '../support/wire.ts'

let server: PostgresServer
let pair: Pair
let a: TestService
let b: TestService
beforeAll(async () => {
  server = await startPostgres()
  pair = await startPair(await server.migrated(), { SERVICE_DCR_MODE: 'open' })
  ;({ a, b } = pair)
})
afterAll(async () => {
  await pair.close()
  await server.close()
})

const statuses = (answers: Answer[]) => answers.map(({ status }) => status).sort()
const signedIn = async () => {
  const [client, user, resource] = [await addClient(a), await addUser(a), await addResource(a)]
  const authorized = await authorize(a, client, user, { resource: resource.uri })
  return { client, user, resource, authorized }
}

test('a token of a new key of another instance is accepted and revoked here when both share the key folder', async () => {
  const client = await addClient(a)
  await okAdmin(a, 'POST', '/admin/keys/rotate')
  const token = String((await machineToken(a, client)).body['access_token'])
  expect((await post(`${b.issuer}/oauth/revoke`, client, { token })).status).toBe(200)
  expect(await introspect(a, client, token)).toEqual({ active: false })
})

describe('single-use values', () => {
  test('a proof that was used at one instance is refused at the other', async () => {
    const [client, key] = [await addClient(a), await proofKey()]
    const headers = await dpop(a, key)
    expect((await machineToken(a, client, {}, headers)).body['token_type']).toBe('DPoP')
    const replayed = await machineToken(b, client, {}, headers)
    expect([replayed.status, replayed.body['error']]).toEqual([400, 'invalid_dpop_proof'])
  })

  test('E02 of concurrent uses of a proof at both instances exactly one is accepted', async () => {
    const client = await addClient(a)
    for (let round = 0; round < 5; round++) {
      const headers = await dpop(a, await proofKey())
      const answers = await Promise.all([a, b, a, b].map((at) => machineToken(at, client, {}, headers)))
      expect(statuses(answers)).toEqual([200, 400, 400, 400])
    }
  })

  test('B07 a code of one instance is redeemed at the other, once, also concurrently', async () => {
    const { client, authorized } = await signedIn()
    const answers = await Promise.all([a, b, a, b].map((at) => redeem(at, client, authorized)))
    expect(statuses(answers)).toEqual([200, 400, 400, 400])
  })

  test('D02 of concurrent uses of a refresh token at both instances exactly one succeeds, and its family ends at both', async () => {
    const { client, authorized } = await signedIn()
    const first = (await redeem(a, client, authorized)).body['refresh_token']
    const answers = await Promise.all([a, b, a, b].map((at) => refresh(at, client, first)))
    expect(statuses(answers)).toEqual([200, 400, 400, 400])
    const next = answers.find(({ status }) => status === 200)?.body['refresh_token']
    for (const at of [a, b]) expect((await refresh(at, client, next)).body['error']).toBe('invalid_grant')
  })

  test('a refresh token that was rotated at one instance and is used again at the other ends the family', async () => {
    const { client, authorized } = await signedIn()
    const first = (await redeem(a, client, authorized)).body['refresh_token']
    const second = (await refresh(b, client, first)).body['refresh_token']
    expect((await refresh(a, client, first)).body['error']).toBe('invalid_grant')
    expect((await refresh(b, client, second)).body['error']).toBe('invalid_grant')
  })
})

describe('caches are invalidated by changes at the other instance', () => {
  test('a client that the other instance suspended is refused', async () => {
    const client = await addClient(a)
    expect((await machineToken(b, client)).status).toBe(200)
    await okAdmin(a, 'PATCH', `/admin/clients/${client.client_id}/suspend`)
    await eventually(async () => (await machineToken(b, client)).status === 401, 1000)
  })

  test('C40 changes of client secrets at the other instance apply here', async () => {
    const client = await addClient(a)
    const holdsAt = async (at: TestService, client_secret: string) =>
      (await machineToken(at, { ...client, client_secret })).status === 200
    const rotate = async (body: object) =>
      String((await okAdmin(a, 'POST', `/admin/clients/${client.client_id}/rotate-secret`, body))['client_secret'])
    expect(await holdsAt(b, client.client_secret)).toBe(true)
    const second = await rotate({ overlap: '24h' })
    await eventually(() => holdsAt(b, second), 1000)
    expect(await holdsAt(b, client.client_secret)).toBe(true)
    const { id = '' } = client.secrets?.[0] ?? {}
    await okAdmin(a, 'DELETE', `/admin/clients/${client.client_id}/secrets/${id}`)
    await eventually(async () => !(await holdsAt(b, client.client_secret)), 1000)
    expect(await holdsAt(b, second)).toBe(true)
    await rotate({})
    await eventually(async () => !(await holdsAt(b, second)), 1000)
  })

  test('the last use of a client secret at one instance is shown at the other', async () => {
    const client = await addClient(a)
    const lastUse = async () => {
      const { secrets } = await okAdmin<{ secrets: { last_used_at?: string }[] }>(
        a,
        'GET',
        `/admin/clients/${client.client_id}`,
      )
      return secrets[0]?.last_used_at
    }
    expect(await lastUse()).toBeUndefined()
    expect((await machineToken(b, client)).status).toBe(200)
    await eventually(async () => (await lastUse()) !== undefined, 1000)
  })

  test('J07 the registration mode of the other instance applies here', async () => {
    expect((await register(b)).status).toBe(201)
    await okAdmin(a, 'PATCH', '/admin/settings/dcr', { mode: 'admin_only' })
    await eventually(async () => (await register(b)).status === 403, 1000)
  })

  test('a user whom the other instance removed from a group, and a resource that it restricted, are refused here', async () => {
    const staff = { mode: 'restricted' as const, groups: ['staff'] }
    const client = await addClient(a)
    const scene = async (groups: string[], fields: Parameters<typeof addResource>[1] = {}) => {
      const [user, resource] = [await addUser(a, { operator_groups: groups }), await addResource(a, fields)]
      const { body } = await redeem(b, client, await authorize(b, client, user, { resource: resource.uri }))
      expect(await isActive(b, client, body['access_token'])).toBe(true)
      return { user, resource, ...body } as { user: { id: string }; resource: { id: string }; [name: string]: unknown }
    }
    const [removed, restricted] = [await scene(['staff'], { access: staff }), await scene([])]
    await okAdmin(a, 'PATCH', `/admin/users/${removed.user.id}`, { groups: [] })
    await okAdmin(a, 'PATCH', `/admin/resources/${restricted.resource.id}`, { access: staff })
    for (const tokens of [removed, restricted]) {
      await eventually(async () => !(await isActive(b, client, tokens['access_token'])), 1000)
      expect((await refresh(b, client, tokens['refresh_token'])).body['error']).toBe('invalid_grant')
    }
  })

  test('a resource that the other instance created is known here', async () => {
    const client = await addClient(a)
    const uri = `https://${newId().toLowerCase()}.example.com/mcp`
    const ask = async () => (await machineToken(b, client, { resource: uri, scope: 'mcp:read' })).status
    expect(await ask()).toBe(400)
    await addResource(a, { uri })
    await eventually(async () => (await ask()) === 200, 1000)
  })
})

test('failed logins at both instances are counted together, and a lockout applies at both', async () => {
  const user = await addUser(a)
  const results: number[] = []
  for (let i = 0; i < 12; i++) {
    const browser = new Browser()
    const at = i % 2 ? a : b
    const answer = await signIn(at, browser, await browser.follow(`${at.issuer}/login`), user.email, 'wrong password')
    results.push(answer.status)
  }
  expect(results).toEqual([...Array(10).fill(422), 429, 429])
})

test('a token of one instance is active at the other until it is revoked there', async () => {
  const client = await addClient(a)
  const token = String((await machineToken(a, client)).body['access_token'])
  expect(await isActive(b, client, token)).toBe(true)
  expect((await post(`${b.issuer}/oauth/revoke`, client, { token })).status).toBe(200)
  expect([await isActive(a, client, token), await isActive(b, client, token)]).toEqual([false, false])
})
