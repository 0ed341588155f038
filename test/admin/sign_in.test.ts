// Sign-in to the admin page, of people at a real provider and with a key.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { AdminBrowser, adminSignIn, GROUPS, idOfPerson, openAdminFederation } from '../support/admin_page.ts'
import { FederatedBrowser } from '../support/federated_browser.ts'
import { addClient, type TestService } from '../support/service.ts'

let world: Awaited<ReturnType<typeof openAdminFederation>>
let service: TestService
beforeAll(async () => {
  world = await openAdminFederation()
  service = world.service
})
afterAll(() => world.close())

const EMAIL = 'ada@corp.example.com'
let count = 0
/** The person who signs in next, with an account of their own. */
function become(groups: string[], more: Record<string, unknown> = {}) {
  const sub = `up-${++count}`
  world.op.person = { sub, email: `${sub}.${EMAIL}`, email_verified: true, name: 'Ada', groups, ...more }
  return world.op.person
}
beforeEach(() => void become([GROUPS.admin]))
const browser = () => new AdminBrowser(service, world.op)
async function signedIn(groups: string[] = [GROUPS.admin]) {
  become(groups)
  const tab = browser()
  await tab.signInAsPerson()
  return tab
}
const userOf = async (tab: AdminBrowser) => {
  const [, email = ''] = /^admin:(.*)$/.exec((await tab.operator())?.actor_id ?? '') ?? []
  const [user] = await okAdmin<{ id: string }[]>(service, 'GET', `/admin/users?${new URLSearchParams({ email })}`)
  return user?.id ?? ''
}

describe('people', () => {
  test('a sign-in at the provider leads to the admin page, and leaves the cookies of the session and of the browser', async () => {
    const tab = browser()
    const page = await tab.signInAsPerson()
    expect([page.status, page.text.includes('<title>')]).toEqual([200, true])
    expect(await tab.operator()).toEqual({ actor_id: `admin:${world.op.person['email']}`, capability: 'admin' })
    expect([...tab.cookies.keys()].sort()).toEqual(['service_admin', 'service_admin_browser'])
  })

  test('the start sets the cookie of the browser, and the callback that of the session', async () => {
    const tab = browser()
    const start = await tab.open(`${service.admin}/admin/ui/sign-in/start`)
    expect(start.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^service_admin_browser=[\w-]{43}; Path=\/admin\/ui\/sign-in; Max-Age=86400; HttpOnly; SameSite=Lax$/,
      ),
    ])
    expect(new URL(start.location ?? '').searchParams.get('redirect_uri')).toBe(
      `${service.admin}/admin/ui/sign-in/callback`,
    )
    let page = start
    while (!page.headers.getSetCookie().join().includes('service_admin=')) page = await tab.step(page.location ?? '')
    expect([page.status, page.location]).toEqual([303, `${service.admin}/admin/ui/`])
    expect(page.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^service_admin=sas_[\w-]{64}; Path=\/admin; Max-Age=43200; HttpOnly; SameSite=Strict$/),
      expect.stringMatching(/^service_admin_oidc_[\w-]{16}=; .*Max-Age=0/),
    ])
  })

  test.each([
    [[GROUPS.viewer], 'viewer'],
    [[GROUPS.operator, 'others'], 'operator'],
    [[GROUPS.viewer, GROUPS.admin, GROUPS.operator], 'admin'],
  ])('the groups %j give the capability %s', async (groups, capability) => {
    const tab = await signedIn(groups)
    expect((await tab.operator())?.capability).toBe(capability)
    const { client_id } = await addClient(service)
    const allowed = [
      (await tab.send('GET', '/admin/clients?limit=1')).status,
      (await tab.send('PATCH', `/admin/clients/${client_id}/suspend`)).status,
      (await tab.send('POST', '/admin/api-keys', { name: `by-${capability}`, capability: 'viewer' })).status,
    ]
    expect(allowed).toEqual({ viewer: [200, 403, 403], operator: [200, 200, 403], admin: [200, 200, 201] }[capability])
  })

  test('the audit trail names the person, by the email that the provider vouches for', async () => {
    const tab = await signedIn()
    const { client_id } = await addClient(service)
    expect((await tab.send('PATCH', `/admin/clients/${client_id}/suspend`)).status).toBe(200)
    const actor_id = `admin:${world.op.person['email']}`
    expect((await eventsOf(service, 'client_suspended'))[0]).toMatchObject({ actor_id, client_id })
    const detail = { provider: 'default', user_id: await userOf(tab) }
    expect((await eventsOf(service, 'admin_ui_login'))[0]).toMatchObject({ actor_id, detail })
    become([GROUPS.viewer], { email_verified: undefined })
    const other = browser()
    await other.signInAsPerson()
    const id = await idOfPerson(service, world.op)
    expect((await other.operator())?.actor_id).toBe(`admin:${id}`)
  })

  test('a person without a group is refused with a page, and gets no session; admin_ui_login_failed has the reason', async () => {
    become(['others'])
    const tab = browser()
    const page = await tab.signInAsPerson()
    expect([page.status, page.text.includes('None of your groups may use the admin page.')]).toEqual([403, true])
    expect([...tab.cookies.keys()]).toEqual(['service_admin_browser'])
    expect((await eventsOf(service, 'admin_ui_login_failed'))[0]?.detail).toMatchObject({
      provider: 'default',
      reason: 'admin_no_capability',
      found: 'others',
    })
  })

  test('groups that an operator set give no capability', async () => {
    become(['others'])
    const user = new FederatedBrowser(service, world.op)
    await user.signInAt('Corporate SSO')
    const id = await idOfPerson(service, world.op)
    await okAdmin(service, 'PATCH', `/admin/users/${id}`, { groups: [GROUPS.admin] })
    expect((await browser().signInAsPerson()).status).toBe(403)
  })

  test.each<[string, (tab: AdminBrowser) => Promise<unknown>]>([
    [
      'a sign-in elsewhere without the group',
      async () => {
        world.op.person = { ...world.op.person, groups: [] }
        await new FederatedBrowser(service, world.op).signInAt('Corporate SSO')
      },
    ],
    ['a disabled account', async (tab) => okAdmin(service, 'PATCH', `/admin/users/${await userOf(tab)}/disable`)],
    ['an ended sign-in', async (tab) => okAdmin(service, 'DELETE', `/admin/users/${await userOf(tab)}/tokens`)],
    ['a deleted account', async (tab) => okAdmin(service, 'DELETE', `/admin/users/${await userOf(tab)}?force=true`)],
    ['a logout at the provider', async () => world.op.logOut(world.op.sids.at(-1))],
  ])('%s ends the session at once', async (_what, act) => {
    const tab = await signedIn()
    expect((await tab.send('GET', '/admin/stats')).status).toBe(200)
    await act(tab)
    expect((await tab.send('GET', '/admin/stats')).status).toBe(401)
    expect(await tab.operator()).toBeUndefined()
  })

  test('a changed group changes the capability of the session', async () => {
    const tab = await signedIn([GROUPS.admin])
    world.op.person = { ...world.op.person, groups: [GROUPS.viewer] }
    await new FederatedBrowser(service, world.op).signInAt('Corporate SSO')
    expect((await tab.operator())?.capability).toBe('viewer')
    expect((await tab.send('POST', '/admin/keys/rotate')).status).toBe(403)
  })
})

describe('keys', () => {
  test('a key is exchanged for a cookie, which has its capability and its name', async () => {
    const { key } = await okAdmin<{ key: string }>(service, 'POST', '/admin/api-keys', {
      name: 'laptop',
      capability: 'operator',
    })
    const tab = browser()
    const { status, headers, body } = await tab.signInWithKey(key)
    expect([status, body]).toEqual([200, { operator: { actor_id: 'admin:laptop', capability: 'operator' } }])
    expect(headers.getSetCookie()[0]).toMatch(/^service_admin=sas_.*; HttpOnly; SameSite=Strict$/)
    expect(await tab.operator()).toEqual({ actor_id: 'admin:laptop', capability: 'operator' })
    expect((await tab.send('POST', '/admin/keys/rotate')).status).toBe(403)
    expect((await eventsOf(service, 'admin_ui_login'))[0]).toMatchObject({ actor_id: 'admin:laptop', detail: {} })
  })

  test('the revocation of a key ends its sessions', async () => {
    const made = { name: 'lost', capability: 'admin' }
    const { key, id } = await okAdmin<{ key: string; id: string }>(service, 'POST', '/admin/api-keys', made)
    const tab = browser()
    await tab.signInWithKey(key)
    expect((await tab.send('GET', '/admin/stats')).status).toBe(200)
    await okAdmin(service, 'DELETE', `/admin/api-keys/${id}`)
    expect((await tab.send('GET', '/admin/stats')).status).toBe(401)
  })

  test('a page with https gets a cookie that no sibling domain can set', async () => {
    const tab = browser()
    const headers = { 'x-admin-page': 'https:' }
    const page = await tab.send('POST', '/admin/ui/session', undefined, { ...headers, ...bearer })
    expect(page.headers.getSetCookie()[0]).toMatch(
      /^__Host-service_admin=sas_.*; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure$/,
    )
    expect((await tab.send('GET', '/admin/stats', undefined, headers)).status).toBe(200)
    tab.cookies.set('service_admin', tab.cookies.get('__Host-service_admin') ?? '')
    tab.cookies.delete('__Host-service_admin')
    expect((await tab.send('GET', '/admin/stats', undefined, headers)).status).toBe(401)
  })

  test('only the page can exchange a key, and a session is not exchanged for another one', async () => {
    const tab = browser()
    expect((await tab.send('POST', '/admin/ui/session', undefined, bearer)).status).toBe(400)
    await tab.signInWithKey()
    const before = tab.cookies.get('service_admin')
    expect((await tab.send('POST', '/admin/ui/session')).status).toBe(400)
    expect(tab.cookies.get('service_admin')).toBe(before)
  })
})
const bearer = { authorization: 'Bearer test-admin-key-0123456789' }

describe('the session', () => {
  test('a sign-out ends it, also for a copy of the cookie, and is recorded as admin_ui_logout', async () => {
    const tab = browser()
    await tab.signInWithKey()
    const copy = browser()
    for (const [name, value] of tab.cookies) copy.cookies.set(name, value)
    const { status, headers } = await tab.send('DELETE', '/admin/ui/session')
    expect([status, headers.getSetCookie()[0]]).toEqual([204, expect.stringMatching(/^service_admin=; .*Max-Age=0/)])
    expect((await copy.send('GET', '/admin/stats')).status).toBe(401)
    expect((await eventsOf(service, 'admin_ui_logout'))[0]?.actor_id).toBe('admin')
  })

  test('it ends after 12 hours', async () => {
    const tab = browser()
    await tab.signInWithKey()
    service.advance(12 * 3600 - 60)
    expect((await tab.send('GET', '/admin/stats')).status).toBe(200)
    service.advance(60)
    expect((await tab.send('GET', '/admin/stats')).status).toBe(401)
  })

  test('that of a wall view can only read, also under another prefix, takes the place of the one before, and ends after 7 days', async () => {
    const [tab, before] = [browser(), browser()]
    await tab.signInWithKey()
    for (const [name, value] of tab.cookies) before.cookies.set(name, value)
    const wall = { actor_id: 'admin', capability: 'viewer', wall: true }
    const { body, headers } = await tab.send('POST', '/admin/ui/session/wall')
    expect(body).toEqual({ operator: wall })
    expect(headers.getSetCookie()[0]).toMatch(
      /^service_admin=saw_[\w-]{64}; .*Max-Age=604800; HttpOnly; SameSite=Strict$/,
    )
    expect(await tab.operator()).toEqual(wall)
    expect((await before.send('GET', '/admin/stats')).status).toBe(401)
    expect((await tab.send('POST', '/admin/keys/rotate')).status).toBe(403)
    expect((await tab.send('POST', '/admin/ui/session/wall')).status).toBe(400)
    before.cookies.set('service_admin', (tab.cookies.get('service_admin') ?? '').replace('saw_', 'sas_'))
    expect((await before.send('GET', '/admin/stats')).status).toBe(401)
    service.advance(7 * 86_400 - 60)
    expect((await tab.send('GET', '/admin/stats')).status).toBe(200)
    service.advance(60)
    expect((await tab.send('GET', '/admin/stats')).status).toBe(401)
  })

  test('the page learns without a session where people can sign in', async () => {
    const { status, body } = await browser().send('GET', '/admin/ui/session')
    const providers = [{ name: 'Corporate SSO', url: `${service.admin}/admin/ui/sign-in/start` }]
    expect([status, body]).toEqual([200, { providers }])
  })
})

describe('the configuration', () => {
  const load = (more: Record<string, string>) => () =>
    loadConfig(undefined, {
      ...adminSignIn('http://127.0.0.1:1'),
      SERVICE_OIDC_REDIRECT_URI: 'http://localhost:9000/oidc/callback',
      SERVICE_ADMIN_SIGN_IN_URL: 'https://admin.example.com',
      ...more,
    })

  test.each([
    ['no address', { SERVICE_ADMIN_SIGN_IN_URL: '' }, /admin\.sign_in\.url/],
    ['plain http', { SERVICE_ADMIN_SIGN_IN_URL: 'http://admin.example.com' }, /admin\.sign_in\.url/],
    ['an address with a path', { SERVICE_ADMIN_SIGN_IN_URL: 'https://admin.example.com/a' }, /admin\.sign_in\.url/],
    ['a provider that does not exist', { SERVICE_ADMIN_SIGN_IN_PROVIDERS: 'partner' }, /admin\.sign_in\.providers/],
    ['a provider that is off', { SERVICE_OIDC_ENABLED: 'false' }, /admin\.sign_in\.providers/],
  ])('refuses %s', (_what, more, message) => {
    expect(load(more)).toThrow(message)
  })

  test.each(['https://admin.example.com/', 'http://localhost:9001', 'http://127.0.0.1:9001'])('accepts %s', (url) => {
    expect(load({ SERVICE_ADMIN_SIGN_IN_URL: url })).not.toThrow()
  })

  test('without it there is no sign-in of people', async () => {
    const other = await openAdminFederation({ SERVICE_ADMIN_SIGN_IN_ENABLED: 'false' })
    const tab = new AdminBrowser(other.service, other.op)
    const page = await tab.signInAsPerson()
    expect([page.location, (await callAdmin(other.service, 'GET', '/admin/ui/session')).body]).toEqual([
      undefined,
      { providers: [] },
    ])
    expect(other.op.asked).toEqual([])
    await other.close()
  })
})
