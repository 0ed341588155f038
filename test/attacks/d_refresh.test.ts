// Section D of the attack list: refresh tokens. One test per row, named by its id.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventsOf, metricOf, okAdmin } from '../support/admin.ts'
import { dpop, proofKey } from '../support/dpop.ts'
import { type Answer, authorize, authorizeUrl, claimsOf, decide, isActive, redeem, refresh } from '../support/flow.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

/** A confidential client with the tokens of a sign-in. */
const withTokens = async (fields: Record<string, string> = {}) => {
  const [client, user, resource] = [await addClient(service), await addUser(service), await addResource(service)]
  const authorized = await authorize(service, client, user, { resource: resource.uri, ...fields })
  const { body } = await redeem(service, client, authorized)
  return {
    client,
    user,
    resource,
    browser: authorized.browser,
    access_token: String(body['access_token']),
    refresh_token: String(body['refresh_token']),
  }
}
const outcome = ({ status, body }: Answer) => (status === 200 ? '200' : `${status} ${body['error']}`)
const reuses = () => metricOf(service, 'core_refresh_token_reuse_total')

test('D01 a second use of a refresh token revokes the family with all its tokens, and is counted', async () => {
  const { client, access_token, refresh_token } = await withTokens()
  const second = await refresh(service, client, refresh_token)
  expect(await isActive(service, client, second.body['access_token'])).toBe(true)
  const before = await reuses()
  expect(outcome(await refresh(service, client, refresh_token))).toBe('400 invalid_grant')
  expect(outcome(await refresh(service, client, second.body['refresh_token']))).toBe('400 invalid_grant')
  for (const token of [access_token, second.body['access_token']])
    expect(await isActive(service, client, token)).toBe(false)
  expect(await reuses()).toBe(before + 1)
  expect((await eventsOf(service, 'refresh_token_reused'))[0]).toMatchObject({ client_id: client.client_id })
})

// In one process with SQLite; two processes on PostgreSQL: test/flows/instances.test.ts.
test('D02 of 50 concurrent uses at most one succeeds, and afterwards the family is revoked: there are never two successors', async () => {
  const { client, refresh_token } = await withTokens()
  const answers = await Promise.all(Array.from({ length: 50 }, () => refresh(service, client, refresh_token)))
  const winners = answers.filter(({ status }) => status === 200)
  expect(winners.length).toBeLessThanOrEqual(1)
  expect(new Set(answers.filter(({ status }) => status !== 200).map(outcome))).toEqual(new Set(['400 invalid_grant']))
  for (const { body } of winners) {
    expect(await isActive(service, client, body['access_token'])).toBe(false)
    expect(outcome(await refresh(service, client, body['refresh_token']))).toBe('400 invalid_grant')
  }
})

// A rotation is one transaction. After a kill, either the old token is unused, or it is used and its successor, which the client
// never received, is stored. A used token never becomes valid again.
test('D04 a client that repeats a refresh token because it never received the new one must sign in again', async () => {
  const { client, access_token, refresh_token } = await withTokens()
  await refresh(service, client, refresh_token)
  expect(outcome(await refresh(service, client, refresh_token))).toBe('400 invalid_grant')
  expect(await isActive(service, client, access_token)).toBe(false)
})

test('D05 a refresh token is refused for another client, which cannot revoke its family either', async () => {
  const { client, refresh_token, access_token } = await withTokens()
  for (const fields of [{}, { token_endpoint_auth_method: 'none' }])
    expect(outcome(await refresh(service, await addClient(service, fields), refresh_token))).toBe('400 invalid_grant')
  expect(outcome(await refresh(service, { client_id: client.client_id, client_secret: 'wrong' }, refresh_token))).toBe(
    '401 invalid_client',
  )
  expect(await isActive(service, client, access_token)).toBe(true)
  expect(outcome(await refresh(service, client, refresh_token))).toBe('200')
})

test('D06 a scope beyond the grant is invalid_scope; after a narrower token the full scope can be requested again', async () => {
  const { client, refresh_token } = await withTokens({ scope: 'mcp:read mcp:write' })
  const granted = await withTokens({ scope: 'mcp:read' })
  for (const scope of ['mcp:write', 'mcp:read mcp:write', 'admin'])
    expect(outcome(await refresh(service, granted.client, granted.refresh_token, { scope })), scope).toBe(
      '400 invalid_scope',
    )
  const narrower = await refresh(service, client, refresh_token, { scope: 'mcp:read' })
  expect(narrower.body['scope']).toBe('mcp:read')
  expect((await refresh(service, client, narrower.body['refresh_token'])).body['scope']).toBe('mcp:read mcp:write')
})

test('D08 a bound refresh token of a public client requires a proof of its key, and a wrong proof does not consume it', async () => {
  const [key, other] = [await proofKey(), await proofKey()]
  const [client, user] = [await addClient(service, { token_endpoint_auth_method: 'none' }), await addUser(service)]
  const authorized = await authorize(service, client, user)
  const { body } = await redeem(service, client, authorized, {}, await dpop(service, key))
  const again = (headers: Record<string, string>) => refresh(service, client, body['refresh_token'], {}, headers)
  for (const headers of [{}, await dpop(service, other), { dpop: 'x.y.z' }])
    expect((await again(headers)).status).toBe(400)
  const { status, body: next } = await again(await dpop(service, key))
  expect([status, next['token_type']]).toEqual([200, 'DPoP'])
})

test('D09 a refresh token is refused as an access token, and an access token as a refresh token', async () => {
  const { client, refresh_token, access_token } = await withTokens()
  expect(await isActive(service, client, refresh_token)).toBe(false)
  expect(outcome(await refresh(service, client, access_token))).toBe('400 invalid_grant')
  expect(outcome(await refresh(service, client, refresh_token))).toBe('200')
})

test('D10 a refresh token is invalid after a password change, and when its user, sign-in, consent or client ends', async () => {
  const deaths: [string, (parts: Awaited<ReturnType<typeof withTokens>>) => Promise<unknown>, string?][] = [
    [
      'password change',
      ({ user }) => okAdmin(service, 'PATCH', `/admin/users/${user.id}`, { password: 'another good password 1' }),
    ],
    ['disabled user', ({ user }) => okAdmin(service, 'PATCH', `/admin/users/${user.id}/disable`)],
    ['force-logout', ({ user }) => okAdmin(service, 'DELETE', `/admin/users/${user.id}/tokens`)],
    [
      'revoked consent',
      async ({ user }) => {
        const [consent] = await service.app.store.listConsents({ user_id: user.id })
        await okAdmin(service, 'DELETE', `/admin/grants/consent/${consent?.id}`)
      },
    ],
    [
      'suspended client',
      ({ client }) => okAdmin(service, 'PATCH', `/admin/clients/${client.client_id}/suspend`),
      '401 invalid_client',
    ],
    [
      'deleted client',
      ({ client }) => okAdmin(service, 'DELETE', `/admin/clients/${client.client_id}?force=true`),
      '401 invalid_client',
    ],
  ]
  for (const [what, act, expected = '400 invalid_grant'] of deaths) {
    const parts = await withTokens()
    await act(parts)
    expect(outcome(await refresh(service, parts.client, parts.refresh_token)), what).toBe(expected)
  }
})

test('D12 a refresh token that is truncated, longer, or has surrounding spaces is invalid_grant, and revokes nothing', async () => {
  const { client, refresh_token } = await withTokens()
  const changed = [
    refresh_token.slice(0, -1),
    `${refresh_token}A`,
    `${refresh_token} `,
    `${refresh_token}\n`,
    ` ${refresh_token}`,
    `${refresh_token}=`,
  ]
  const last = refresh_token.at(-1) === 'A' ? 'B' : 'A'
  for (const token of [
    ...changed,
    refresh_token.slice(0, -1) + last,
    refresh_token.toUpperCase(),
    'rt_',
    `rt_${refresh_token}`,
  ])
    expect(outcome(await refresh(service, client, token)), JSON.stringify(token)).toBe('400 invalid_grant')
  expect(outcome(await refresh(service, client, refresh_token))).toBe('200')
})

/** Shows the same user the consent for both scopes again, and approves only `kept`. */
const takeBack = async (
  { client, resource, browser }: Pick<Awaited<ReturnType<typeof withTokens>>, 'client' | 'resource' | 'browser'>,
  kept: string[],
) => {
  const fields = { client_id: client.client_id, resource: resource.uri, scope: BOTH, prompt: 'consent' }
  const page = await browser.follow(authorizeUrl(service, fields))
  expect((await decide(service, browser, page, 'allow', kept)).location).toContain('code=')
}
const BOTH = 'mcp:read mcp:write'

test('D15 a scope that the user withdraws is missing from every earlier refresh token until the user consents again', async () => {
  const parts = await withTokens({ scope: BOTH })
  const { client } = parts
  await takeBack(parts, ['mcp:read'])
  const second = await refresh(service, client, parts.refresh_token)
  expect([outcome(second), second.body['scope']]).toEqual(['200', 'mcp:read'])
  expect(claimsOf<{ scope: string }>(second).scope).toBe('mcp:read')
  const asked = await refresh(service, client, second.body['refresh_token'], { scope: 'mcp:write' })
  expect(outcome(asked)).toBe('400 invalid_scope')
  const third = await refresh(service, client, second.body['refresh_token'], { scope: BOTH })
  expect([outcome(third), third.body['scope']]).toEqual(['200', 'mcp:read'])
  await takeBack(parts, ['mcp:write'])
  expect((await refresh(service, client, third.body['refresh_token'])).body['scope']).toBe('mcp:write')
})

test('D15 a refresh token whose scopes were all withdrawn is invalid_scope and is not consumed', async () => {
  const parts = await withTokens({ scope: 'mcp:write' })
  await takeBack(parts, ['mcp:read'])
  expect(outcome(await refresh(service, parts.client, parts.refresh_token))).toBe('400 invalid_scope')
  await takeBack(parts, ['mcp:read', 'mcp:write'])
  expect((await refresh(service, parts.client, parts.refresh_token)).body['scope']).toBe('mcp:write')
})

test('D15 a scope that is withdrawn before the code is redeemed is not in the tokens', async () => {
  const [client, user, resource] = [await addClient(service), await addUser(service), await addResource(service)]
  const authorized = await authorize(service, client, user, { resource: resource.uri, scope: BOTH })
  await takeBack({ client, resource, browser: authorized.browser }, ['mcp:read'])
  const { body } = await redeem(service, client, authorized)
  expect(body['scope']).toBe('mcp:read')
})
