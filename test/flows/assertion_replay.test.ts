// The id of a client assertion is committed with the token that it gets: at two instances on one PostgreSQL, and across restarts.
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { addKeyedClient, type KeyedClient, proving } from '../support/assertion.ts'
import { dpop, proofKey } from '../support/dpop.ts'
import { type Answer, claimsOf, post } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { type Pair, startPair } from '../support/pair.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { startService, type TestService } from '../support/service.ts'
import { watchReasons } from '../support/xaa.ts'

const REPLAY = [401, 'invalid_client']
const outcome = ({ status, body }: Answer) => [status, body['error']]

type Proving = Awaited<ReturnType<typeof proving>>
/** Asks for a machine token with an assertion; `fields` says more. */
const ask = (
  at: TestService,
  proof: Proving,
  fields: Record<string, string> = {},
  headers: Record<string, string> = {},
) => post(`${at.issuer}/oauth/token`, undefined, { grant_type: 'client_credentials', ...proof, ...fields }, headers)
const introspect = (at: TestService, proof: Proving) =>
  post(`${at.issuer}/oauth/introspect`, undefined, { token: 'x', ...proof })

describe('two instances', () => {
  let server: PostgresServer
  let pair: Pair
  let a: TestService
  let b: TestService
  let client: KeyedClient
  beforeAll(async () => {
    server = await startPostgres()
    pair = await startPair(await server.migrated())
    ;({ a, b } = pair)
    client = await addKeyedClient(a)
  })
  afterAll(async () => {
    await pair.close()
    await server.close()
  })

  test('S09 an assertion that got a token at one instance is refused at the other, and the reason is recorded', async () => {
    const once = await proving(a, client)
    claimsOf(await ask(a, once))
    const reasonOf = watchReasons(b)
    const replayed = await ask(b, once)
    expect(outcome(replayed)).toEqual(REPLAY)
    expect(reasonOf(replayed)).toBe('assertion_replay')
    const event = { action: 'client_authentication_failed', detail: { reason: 'assertion_replay' } }
    const events = () => okAdmin(b, 'GET', `/admin/audit?client_id=${client.client_id}&limit=2`)
    await expect.poll(events).toMatchObject([event, { action: 'token_issued' }])
    expect(outcome(await introspect(b, once))).toEqual(REPLAY)
  })

  test('S09 of concurrent uses of an assertion at both instances exactly one is accepted', async () => {
    for (let round = 0; round < 5; round++) {
      const once = await proving(a, client)
      const answers = await Promise.all([a, b, a, b].map((at) => ask(at, once)))
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401])
    }
  })

  test('S09 an assertion of a refused request, or of an introspection, is used at both instances', async () => {
    const refused = await proving(a, client)
    expect(outcome(await ask(a, refused, { scope: 'unknown' }))).toEqual([400, 'invalid_scope'])
    for (const at of [a, b]) expect(outcome(await ask(at, refused))).toEqual(REPLAY)
    const introspected = await proving(a, client)
    expect((await introspect(a, introspected)).status).toBe(200)
    for (const at of [a, b]) expect(outcome(await ask(at, introspected))).toEqual(REPLAY)
  })

  test('S09 a request with an assertion and a proof uses both once: a replay of one leaves the other as it was', async () => {
    const key = await proofKey()
    const [assertion, proof] = [await proving(a, client), await dpop(a, key)]
    expect((await ask(a, assertion, {}, proof)).body['token_type']).toBe('DPoP')
    const fresh = await dpop(a, key)
    expect(outcome(await ask(b, assertion, {}, fresh))).toEqual(REPLAY)
    expect(outcome(await ask(b, await proving(b, client), {}, proof))).toEqual([400, 'invalid_dpop_proof'])
    // At the instance that has not seen it: its use was rolled back with the replayed assertion.
    expect((await ask(a, await proving(a, client), {}, fresh)).body['token_type']).toBe('DPoP')
  })
})

test('S09 a used assertion is still refused after a restart, also that of a refused request', async () => {
  const folder = tempFolder()
  const env = {
    SERVICE_SERVER_ISSUER: 'http://localhost',
    SERVICE_STORAGE_SQLITE_PATH: path.join(folder, 'service.db'),
    SERVICE_SIGNING_KEY_PATH: path.join(folder, 'keys'),
  }
  const before = await startService(env)
  const client = await addKeyedClient(before)
  const [used, refused, unused] = await Promise.all([1, 2, 3].map(() => proving(before, client)))
  claimsOf(await ask(before, used as Proving))
  expect(outcome(await ask(before, refused as Proving, { scope: 'unknown' }))).toEqual([400, 'invalid_scope'])
  await before.close()
  const after = await startService(env)
  try {
    for (const each of [used, refused]) expect(outcome(await ask(after, each as Proving))).toEqual(REPLAY)
    claimsOf(await ask(after, unused as Proving))
  } finally {
    await after.close()
  }
})
