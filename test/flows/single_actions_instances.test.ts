// Pushed requests, approvals (CIBA) and authorization details at two instances on one PostgreSQL: each step may reach another instance.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { digest } from '../../src/lib/id.ts'
import { okAdmin } from '../support/admin.ts'
import { APPROVALS, addAgent, askPerson, decideOn, idIn, pollFor } from '../support/approvals.ts'
import { signedIn } from '../support/documents.ts'
import { claimsOf, decide, expectRefused, machineToken, post, redeem } from '../support/flow.ts'
import { type Pair, startPair } from '../support/pair.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { addClient, addResource, addUser, REDIRECT_URI, type TestService } from '../support/service.ts'
import { eventually } from '../support/wire.ts'

let server: PostgresServer
let pair: Pair
let a: TestService
let b: TestService
beforeAll(async () => {
  server = await startPostgres()
  pair = await startPair(await server.migrated(), APPROVALS)
  ;({ a, b } = pair)
})
afterAll(async () => {
  await pair.close()
  await server.close()
})

test('a request that was pushed at one instance is opened and allowed at the other, once, and its code is redeemed at the first one', async () => {
  const [client, resource, user] = [await addClient(a), await addResource(a), await addUser(a)]
  const verifier = 'v'.repeat(43)
  const { body } = await post(`${a.issuer}/oauth/par`, client, {
    ...{ response_type: 'code', redirect_uri: REDIRECT_URI, scope: 'mcp:read', resource: resource.uri },
    ...{ code_challenge: digest(verifier), code_challenge_method: 'S256' },
  })
  const query = new URLSearchParams({ client_id: client.client_id, request_uri: String(body['request_uri']) })
  const browser = await signedIn(b, user)
  const page = await browser.follow(`${b.issuer}/oauth/authorize?${query}`)
  const { location = '' } = await decide(b, browser, page, 'allow')
  const code = new URL(location).searchParams.get('code') ?? ''
  for (const at of [a, b]) expect((await browser.follow(`${at.issuer}/oauth/authorize?${query}`)).status).toBe(400)
  expect(claimsOf(await redeem(a, client, { code, verifier }))['aud']).toEqual([resource.uri])
})

test('an approval that was asked at one instance is allowed at the other; of polls at both, one gets the tokens', async () => {
  const [client, resource, user] = [await addAgent(a), await addResource(a), await addUser(a)]
  const browser = await signedIn(b, user)
  const ask = async () => idIn(await askPerson(a, client, { login_hint: user.id, resource: resource.uri }))
  const waiting = await ask()
  expectRefused(await pollFor(b, client, waiting), 'authorization_pending')
  // The interval holds for both together.
  expectRefused(await pollFor(a, client, waiting), 'slow_down')
  await decideOn(b, browser, 'deny')
  for (const at of [a, b]) at.advance(60)
  expectRefused(await pollFor(a, client, waiting), 'access_denied')
  for (let round = 0; round < 5; round++) {
    const id = await ask()
    await decideOn(b, browser)
    const polls = await Promise.all([a, b, a, b].map((at) => pollFor(at, client, id)))
    expect(polls.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400])
    expectRefused(await pollFor(round % 2 ? a : b, client, id), 'invalid_grant')
  }
})

test('a type of details that was changed at one instance is checked as changed at the other', async () => {
  const type = { type: 'payment', description: 'A payment', schema: { properties: { amount: { type: 'string' } } } }
  const { id, uri } = await addResource(a, { authorization_details_types: [type] })
  const client = await addClient(a)
  const authorization_details = JSON.stringify([{ type: 'payment', amount: 'a lot' }])
  const outcome = async () => {
    const { status, body } = await machineToken(b, client, { resource: uri, authorization_details })
    return body['error'] ?? status
  }
  const change = (types: object[]) =>
    okAdmin(a, 'PATCH', `/admin/resources/${id}`, { authorization_details_types: types })
  expect(await outcome()).toBe(200)
  const stricter = { ...type, schema: { properties: { amount: { type: 'string', pattern: '^\\d+ EUR$' } } } }
  for (const types of [[stricter], []]) {
    await change(types)
    await eventually(async () => (await outcome()) === 'invalid_authorization_details')
    await change([type])
    await eventually(async () => (await outcome()) === 200)
  }
})
