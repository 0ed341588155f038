// A real Keycloak, at which users sign in and whose tokens are brokered: what an operator and a user meet, and what the guide says about it.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkProviders } from '../../src/cli/doctor/providers.ts'
import { loadConfig } from '../../src/config/load.ts'
import { eventsOf, okAdmin } from '../support/admin.ts'
import { addBrokerResource, addProvider, aMember, RETURN, startBroker } from '../support/broker.ts'
import { addExchanger, exchange } from '../support/exchange.ts'
import { authorize, redeem, refresh } from '../support/flow.ts'
import { CLIENT_ID, CLIENT_SECRET, federating, isSignedIn } from '../support/openid_fake.ts'
import { addClient, addResource, startService, type TestService } from '../support/service.ts'
import { FormBrowser } from './form_browser.ts'
import { type Keycloak, PASSWORD_THERE, startKeycloak } from './keycloak/server.ts'
import { keycloak } from './toolchain.ts'

const toolchain = await keycloak()
const SCOPES = [{ name: 'files:read', description: 'Read', upstream: 'openid' }]

let there: Keycloak
beforeAll(async () => {
  if ('command' in toolchain) there = await startKeycloak(toolchain.command[0] ?? '')
}, 260_000)
afterAll(() => there?.close())

describe.skipIf('missing' in toolchain)('sign-in at Keycloak 26.7', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService(federating(there.issuer, { SERVICE_OIDC_LOGOUT_ENDS_GRANTS: 'true' }))
  })
  afterAll(() => service?.close())

  const browserOf = ({ username }: { username: string }, at = service) =>
    new FormBrowser([at.issuer, there.issuer], { username, password: PASSWORD_THERE })
  const signIn = async (user: { username: string }, at = service) => {
    const browser = browserOf(user, at)
    const page = await browser.travel(`${at.issuer}/oidc/start?redirect=%2F`)
    return { browser, page }
  }
  interface Shown {
    id: string
    email: string
    email_verified: boolean
    groups: string[]
    provider_sub?: string
  }
  const shown = async ({ id }: { id: string }) =>
    (await okAdmin<Shown[]>(service, 'GET', '/admin/users')).find(({ provider_sub }) => provider_sub === id)
  const lastFailure = async (at = service) => (await eventsOf(at, 'user_oidc_login_failed'))[0]?.detail

  test('a user signs in with the groups that the mapper sends, and a group that was left is gone at the next sign-in', async () => {
    const user = await there.addUser({ groups: ['/engineering'] })
    const { browser } = await signIn(user)
    expect(await isSignedIn(service, browser)).toBe(true)
    expect(await shown(user)).toMatchObject({ email: user.email, email_verified: true, groups: ['engineering'] })
    const [group] = (await there.admin('GET', '/groups?search=engineering')) as { id: string }[]
    await there.admin('DELETE', `/users/${user.id}/groups/${group?.id}`)
    await signIn(user)
    expect((await shown(user))?.groups).toEqual([])
  })

  test('a user whose email is not verified has no email here', async () => {
    const user = await there.addUser({ emailVerified: false })
    await signIn(user)
    expect(await shown(user)).toMatchObject({ email: '', email_verified: false })
  })

  test.each([
    ['a wrong secret', 'oidc_unauthorized_client', () => ({ SERVICE_OIDC_CLIENT_SECRET: 'a-wrong-secret' })],
    ['a realm that does not exist', 'oidc_discovery_status', () => ({ SERVICE_OIDC_ISSUER: `${there.issuer}s` })],
    ['an issuer with one slash more', 'oidc_issuer_differs', () => ({ SERVICE_OIDC_ISSUER: `${there.issuer}/` })],
  ])('%s is %s in the audit event and in `doctor`', async (_what, reason, wrong) => {
    const wrongly = await startService(federating(there.issuer, wrong()))
    const user = await there.addUser()
    const { browser, page } = await signIn(user, wrongly)
    expect(page.status).toBeGreaterThanOrEqual(400)
    expect(await isSignedIn(wrongly, browser)).toBe(false)
    expect(await lastFailure(wrongly)).toMatchObject({ provider: 'default', reason })
    const env = federating(there.issuer, wrong())
    const { config } = loadConfig(undefined, { SERVICE_SERVER_ISSUER: 'http://localhost:1', ...callbackAt(env) })
    expect(await checkProviders(config)).toEqual([
      expect.objectContaining({ result: 'fail', message: expect.stringContaining(reason) }),
    ])
    await wrongly.close()
  })

  test('`doctor` accepts the right settings', async () => {
    const env = callbackAt(federating(there.issuer))
    const { config } = loadConfig(undefined, { SERVICE_SERVER_ISSUER: 'http://localhost:1', ...env })
    expect(await checkProviders(config)).toEqual([expect.objectContaining({ result: 'ok' })])
  })

  test.each([
    ['signs ID tokens with EdDSA', 'id.token.signed.response.alg', 'EdDSA', 'RS256', 'oidc_invalid_response'],
    [
      'requires pushed authorization requests',
      'require.pushed.authorization.requests',
      ...['true', 'false', 'oidc_upstream_invalid_request'],
    ],
  ] as const)('a sign-in at a client that %s fails, with that reason', async (_what, name, set, reset, reason) => {
    const user = await there.addUser()
    await there.changeClient({ [name]: set })
    const { browser } = await signIn(user)
    await there.changeClient({ [name]: reset })
    expect(await isSignedIn(service, browser)).toBe(false)
    expect(await lastFailure()).toMatchObject({ provider: 'default', reason })
    expect(await isSignedIn(service, (await signIn(user)).browser)).toBe(true)
  })

  test('a person who is disabled and signed out there has no session and no refresh token here', async () => {
    await there.changeClient({ 'backchannel.logout.url': `${service.issuer}/oidc/backchannel-logout` })
    const user = await there.addUser()
    const { browser } = await signIn(user)
    const [client, resource] = [await addClient(service), await addResource(service)]
    const authorized = await authorize(service, client, user, { resource: resource.uri, scope: 'mcp:read' }, browser)
    const { refresh_token } = (await redeem(service, client, authorized)).body
    const again = await refresh(service, client, refresh_token)
    expect(again.status).toBe(200)
    await there.admin('PUT', `/users/${user.id}`, { enabled: false })
    await there.admin('POST', `/users/${user.id}/logout`)
    expect(await isSignedIn(service, browser)).toBe(false)
    expect((await refresh(service, client, again.body['refresh_token'])).body['error']).toBe('invalid_grant')
    const { page } = await signIn(user)
    expect(page.text).toContain('disabled')
  })

  test('a person whose account there was created again is refused with 409, and signs in to the old account after `relink`', async () => {
    const before = await there.addUser({ username: 'grace' })
    await signIn(before)
    const account = await shown(before)
    await there.admin('DELETE', `/users/${before.id}`)
    const after = await there.addUser({ username: 'grace' })
    const refused = await signIn(after)
    expect(refused.page.status).toBe(409)
    expect(await lastFailure()).toMatchObject({
      reason: 'oidc_email_taken',
      federated_subject: after.id,
      user_id: account?.id,
    })
    await okAdmin(service, 'PATCH', `/admin/users/${account?.id}`, { oidc_subject: after.id })
    const { browser } = await signIn(after)
    expect(await isSignedIn(service, browser)).toBe(true)
    expect((await shown(after))?.id).toBe(account?.id)
  })
})

/** The settings without the address of a service that runs. */
const callbackAt = (env: Record<string, string>) => ({
  ...env,
  SERVICE_OIDC_REDIRECT_URI: 'http://localhost:1/oidc/callback',
})

describe.skipIf('missing' in toolchain)('Keycloak 26.7 as a broker upstream', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startBroker({ CONNECTOR_KC_SECRET: CLIENT_SECRET, CONNECTOR_KC_WRONG: 'a-wrong-secret' })
  })
  afterAll(() => service?.close())

  /** A member here, a user there, and the broker resource between them. */
  async function scene(client_secret_ref = 'CONNECTOR_KC_SECRET') {
    const protocol = `${there.issuer}/protocol/openid-connect`
    const provider = await addProvider(service, {
      config_data: {
        ...{ client_id: CLIENT_ID, client_secret_ref, token_endpoint_auth_method: 'client_secret_basic' },
        authorize_url: `${protocol}/auth`,
        token_url: `${protocol}/token`,
        revoke_url: `${protocol}/revoke`,
      },
    })
    const [app, gateway] = [await addExchanger(service, { scope: 'files:read' }), await addExchanger(service)]
    const policy = { exchange: { allowed_client_ids: [gateway.client_id] } }
    const resource = await addBrokerResource(service, provider, { policy, scopes: SCOPES })
    const [member, user] = [await aMember(service, app, 'files:read'), await there.addUser()]
    const browser = new FormBrowser([service.issuer, there.issuer], {
      username: user.username,
      password: PASSWORD_THERE,
    })
    for (const [name, value] of member.browser.cookies) browser.cookies.set(name, value)
    return {
      ...{ provider, member, user },
      connect: async () => (await browser.travel(member.startUrl(provider.slug))).location,
      vend: () =>
        exchange(service, gateway, { subject_token: member.subject, resource: resource.uri, scope: 'files:read' }),
    }
  }
  /** Whether Keycloak itself takes a token, and for whom. */
  const subjectOf = async (token: unknown) => {
    const url = `${there.issuer}/protocol/openid-connect/userinfo`
    const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
    return answer.status === 200 ? ((await answer.json()) as { sub: string }).sub : answer.status
  }

  test('the first vend costs no refresh, and thirty at once after the expiry cost one', async () => {
    const { connect, vend, user } = await scene()
    expect(await connect()).toBe(RETURN)
    expect(await subjectOf((await vend()).body['access_token'])).toBe(user.id)
    expect(await there.eventsOf(user)).toEqual(['CODE_TO_TOKEN'])
    service.advance(120)
    const answers = await Promise.all(Array.from({ length: 30 }, vend))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(new Set(answers.map(({ body }) => body['access_token'])).size).toBe(1)
    expect(await subjectOf(answers[0]?.body['access_token'])).toBe(user.id)
    expect(await there.eventsOf(user)).toEqual(['REFRESH_TOKEN', 'CODE_TO_TOKEN'])
  })

  test('a person who is disabled there is asked to connect again', async () => {
    const { connect, vend, user, member } = await scene()
    await connect()
    expect((await vend()).status).toBe(200)
    await there.admin('PUT', `/users/${user.id}`, { enabled: false })
    service.advance(120)
    expect((await vend()).body).toMatchObject({ error: 'consent_required', cause: 'consent_missing' })
    const [ended] = await service.app.store.listBrokerGrants({ user_id: member.user.id })
    expect(ended?.ended_reason).toBe('refused_by_provider')
  })

  test('a wrong secret is upstream_unauthorized_client in the audit event, and no connection', async () => {
    const { connect, vend, provider } = await scene('CONNECTOR_KC_WRONG')
    const check = (slug: string) => okAdmin(service, 'GET', `/admin/broker-providers/${slug}/check`)
    expect(await check(provider.slug)).toMatchObject({ usable: false, reason: 'upstream_unauthorized_client' })
    expect(await check((await scene()).provider.slug)).toEqual({ usable: true })
    expect(await connect()).toBe(`${RETURN}?error=server_error`)
    const { detail } = (await eventsOf(service, 'broker_connect_failed'))[0] ?? {}
    expect(detail).toMatchObject({ provider: provider.slug, reason: 'upstream_unauthorized_client' })
    expect((await vend()).body['error']).toBe('consent_required')
  })
})
