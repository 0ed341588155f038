// Section B of the attack list: PKCE and authorization codes. One test per row, named by its id.
import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { Browser } from '../support/browser.ts'
import { ask, signedIn } from '../support/documents.ts'
import { dpop, proofKey } from '../support/dpop.ts'
import { type Answer, authorize, isActive, redeem, refresh } from '../support/flow.ts'
import { watchLog } from '../support/log.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const PUBLIC = { token_endpoint_auth_method: 'none' }
/** A client, a user and a code. */
const withCode = async (clientFields: Record<string, unknown> = PUBLIC, fields: Record<string, string> = {}) => {
  const [client, user, resource] = [
    await addClient(service, clientFields),
    await addUser(service),
    await addResource(service),
  ]
  const authorized = await authorize(service, client, user, { resource: resource.uri, ...fields })
  expect(authorized.code).toMatch(/^ac_/)
  return { client, user, resource, authorized }
}
const outcome = ({ status, body }: Answer) => `${status} ${body['error']}`

test('B01 without a code_challenge no code is issued, for public and confidential clients', async () => {
  const browser = await signedIn(service, await addUser(service))
  for (const fields of [PUBLIC, {}]) {
    const { client_id } = await addClient(service, fields)
    const page = await ask(service, browser, { client_id, code_challenge: undefined, code_challenge_method: undefined })
    expect(new URL(page.location ?? '').searchParams.get('error')).toBe('invalid_request')
  }
})

test('B03 a code_challenge must be 43 characters of base64url, and its method S256', async () => {
  const browser = await signedIn(service, await addUser(service))
  const { client_id } = await addClient(service, PUBLIC)
  const good = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
  const error = async (fields: Record<string, string | undefined>) =>
    new URL((await ask(service, browser, { client_id, ...fields })).location ?? '').searchParams.get('error')
  for (const code_challenge of [
    good.slice(1),
    `${good}A`,
    `${good}=`,
    `${good.slice(1)}=`,
    `${good.slice(2)}+/`,
    `${good.slice(1)} `,
    `${good}\n`,
  ])
    expect(await error({ code_challenge }), code_challenge).toBe('invalid_request')
  for (const code_challenge_method of ['plain', 's256', 'S512', '', undefined])
    expect(await error({ code_challenge: good, code_challenge_method }), code_challenge_method).toBe('invalid_request')
  expect(await error({ code_challenge: good })).toBeNull()
})

test('B04 a request without a code_verifier gets no token, and the code stays valid', async () => {
  for (const fields of [PUBLIC, {}]) {
    const { client, authorized } = await withCode(fields)
    expect(outcome(await redeem(service, client, authorized, { code_verifier: undefined }))).toBe('400 invalid_request')
    expect(outcome(await redeem(service, client, authorized, { code_verifier: '' }))).toBe('400 invalid_request')
    expect((await redeem(service, client, authorized)).status).toBe(200)
  }
})

test('B05 a wrong code_verifier is invalid_grant: the challenge itself, the verifier of another flow, too short, too long, invalid characters', async () => {
  const [{ client, authorized }, other] = [await withCode(), await withCode()]
  const challenge = createHash('sha256').update(authorized.verifier).digest('base64url')
  const wrong = [
    challenge,
    other.authorized.verifier,
    authorized.verifier.slice(1),
    'x'.repeat(42),
    'x'.repeat(129),
    'x'.repeat(10_000),
  ]
  for (const code_verifier of [
    ...wrong,
    `${authorized.verifier} `,
    ` ${authorized.verifier}`,
    `${authorized.verifier}=`,
    'ü'.repeat(43),
    `${authorized.verifier.slice(1)}\n`,
  ])
    expect(outcome(await redeem(service, client, authorized, { code_verifier })), code_verifier.slice(0, 60)).toBe(
      '400 invalid_grant',
    )
  expect((await redeem(service, client, authorized)).status).toBe(200)
})

// In one process; two processes on PostgreSQL: test/flows/instances.test.ts.
test('B07 of 50 concurrent uses of a code exactly one succeeds, and its tokens are revoked by the second use', async () => {
  const { client, authorized } = await withCode({})
  const answers = await Promise.all(Array.from({ length: 50 }, () => redeem(service, client, authorized)))
  const winners = answers.filter(({ status }) => status === 200)
  expect(winners).toHaveLength(1)
  expect(new Set(answers.filter(({ status }) => status !== 200).map(outcome))).toEqual(new Set(['400 invalid_grant']))
  expect(await isActive(service, client, winners[0]?.body['access_token'])).toBe(false)
  expect(outcome(await refresh(service, client, winners[0]?.body['refresh_token']))).toBe('400 invalid_grant')
})

test('B08 a replay without the verifier, or by another client, revokes nothing', async () => {
  const { client, authorized } = await withCode({})
  const stranger = await addClient(service)
  const tokens = await redeem(service, client, authorized)
  expect(outcome(await redeem(service, client, authorized, { code_verifier: 'x'.repeat(43) }))).toBe(
    '400 invalid_grant',
  )
  expect(outcome(await redeem(service, stranger, authorized))).toBe('400 invalid_grant')
  expect(outcome(await redeem(service, { client_id: client.client_id, client_secret: 'wrong' }, authorized))).toBe(
    '401 invalid_client',
  )
  expect(await isActive(service, client, tokens.body['access_token'])).toBe(true)
})

test('B09 a code is refused for another client, and stays valid for its own client', async () => {
  const { client, authorized } = await withCode()
  for (const fields of [PUBLIC, {}])
    expect(outcome(await redeem(service, await addClient(service, fields), authorized))).toBe('400 invalid_grant')
  expect((await redeem(service, client, authorized)).status).toBe(200)
})

test('B11 a code is refused when it is older than oauth.code_expiry', async () => {
  const { oauth } = service.app.config
  const usual = oauth.code_expiry
  oauth.code_expiry = 600
  const [early, late] = [await withCode(), await withCode()]
  oauth.code_expiry = usual
  service.advance(590)
  expect((await redeem(service, early.client, early.authorized)).status).toBe(200)
  service.advance(11)
  expect(outcome(await redeem(service, late.client, late.authorized))).toBe('400 invalid_grant')
})

test('B11 by default a code that is older than a minute is refused', async () => {
  const { client, authorized } = await withCode()
  service.advance(61)
  expect(outcome(await redeem(service, client, authorized))).toBe('400 invalid_grant')
})

test('B12 another resource is invalid_target, and the code stays valid for the right one', async () => {
  const { client, authorized, resource } = await withCode()
  const other = await addResource(service)
  for (const uri of [other.uri, `${resource.uri}/`, 'https://nowhere.example/'])
    expect(outcome(await redeem(service, client, authorized, { resource: uri })), uri).toBe('400 invalid_target')
  expect((await redeem(service, client, authorized, { resource: resource.uri })).status).toBe(200)
})

test('B13 a code that is bound to a key (dpop_jkt) is redeemed only with a proof of that key', async () => {
  const [key, other] = [await proofKey(), await proofKey()]
  const { client, authorized } = await withCode(PUBLIC, { dpop_jkt: key.jkt })
  const use = (headers: Record<string, string>) => redeem(service, client, authorized, {}, headers)
  expect((await use({})).status).toBe(400)
  expect((await use(await dpop(service, other))).status).toBe(400)
  const { status, body } = await use(await dpop(service, key))
  expect([status, body['token_type']]).toEqual([200, 'DPoP'])
})

// A code is found by its id, and its secret is compared as a hash in constant time. So response times reveal neither a prefix nor an
// existing id; see equalSecrets() and parseBearer().
test('B15 random codes are invalid_grant, and guessing reaches the rate limit', async () => {
  const limited = await startService({
    SERVICE_RATE_LIMIT_ENABLED: 'true',
    // So slow that it is not refilled during the test on a busy machine.
    SERVICE_RATE_LIMIT_REQUESTS_PER_SECOND: '1',
    SERVICE_RATE_LIMIT_BURST: '200',
  })
  try {
    const client = await addClient(limited, PUBLIC)
    const guess = () =>
      redeem(limited, client, { code: `ac_${randomBytes(48).toString('base64url')}`, verifier: 'x'.repeat(43) })
    const outcomes = new Map<string, number>()
    for (let round = 0; round < 3; round++)
      for (const answer of await Promise.all(Array.from({ length: 200 }, guess)))
        outcomes.set(outcome(answer), (outcomes.get(outcome(answer)) ?? 0) + 1)
    expect([...outcomes.keys()].sort()).toEqual(['400 invalid_grant', '429 slow_down'])
    expect(outcomes.get('429 slow_down')).toBeGreaterThan(100)
  } finally {
    await limited.close()
  }
})

test('B16 a disabled user, a suspended client and a revoked consent between authorize and token are refused', async () => {
  const disabled = await withCode()
  await okAdmin(service, 'PATCH', `/admin/users/${disabled.user.id}/disable`)
  expect(outcome(await redeem(service, disabled.client, disabled.authorized))).toBe('400 invalid_grant')

  const suspended = await withCode()
  await okAdmin(service, 'PATCH', `/admin/clients/${suspended.client.client_id}/suspend`)
  expect(outcome(await redeem(service, suspended.client, suspended.authorized))).toBe('401 invalid_client')

  const revoked = await withCode()
  const [consent] = await service.app.store.listConsents({ user_id: revoked.user.id })
  await okAdmin(service, 'DELETE', `/admin/grants/consent/${consent?.id}`)
  expect(outcome(await redeem(service, revoked.client, revoked.authorized))).toBe('400 invalid_grant')
})

test('B17 neither the log nor the database contains a code, before and after its use', async () => {
  const lines = watchLog(service.app.log)
  const { client, authorized } = await withCode({}, {})
  const secret = authorized.code.slice('ac_'.length)
  const tokens = await redeem(service, client, authorized)
  await redeem(service, client, authorized, { code_verifier: 'x'.repeat(43) })
  await new Browser().open(authorized.callback.href.replace(/^https:\/\/[^?]+/, `${service.issuer}/nowhere`))
  vi.restoreAllMocks()
  expect(lines.length).toBeGreaterThan(5)
  const folder = path.dirname(service.app.config.storage.sqlite.path)
  const files = readdirSync(folder).filter((name) => name.startsWith('service.db'))
  expect(files).toContain('service.db-wal')
  const everything = [
    JSON.stringify(lines),
    ...files.map((name) => readFileSync(path.join(folder, name), 'latin1')),
  ].join('\n')
  expect(everything).toContain(client.client_id)
  // The last 32 bytes are the secret. The first bytes are an id, which the database must contain.
  for (const text of [
    secret,
    secret.slice(-43),
    authorized.verifier,
    String(tokens.body['refresh_token']),
    String(tokens.body['access_token']),
  ])
    expect(everything).not.toContain(text)
})
