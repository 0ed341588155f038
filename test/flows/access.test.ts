// Access of people at a whole service: from the authorization request to introspection.
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { Browser, type Page } from '../support/browser.ts'
import { BOTH, exchangeScene } from '../support/exchange.ts'
import {
  authorize,
  authorizeUrl,
  claimsOf,
  expectRefused,
  introspect,
  isActive,
  redeem,
  refresh,
  signIn,
  walk,
} from '../support/flow.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'
import { storeCalls } from '../support/store_calls.ts'
import { LOOPBACK, mapSubject, xaaScene } from '../support/xaa.ts'

let service: TestService
let client: Awaited<ReturnType<typeof addClient>>
beforeAll(async () => {
  service = await startService(LOOPBACK)
  client = await addClient(service)
})
afterAll(() => service.close())

type Fields = NonNullable<Parameters<typeof addResource>[1]>
const staffOnly = (more: Fields = {}) =>
  addResource(service, { access: { mode: 'restricted', groups: ['staff'] }, ...more })
const forEditors = (more: Fields = {}) => addResource(service, { scope_groups: { 'mcp:write': ['editors'] }, ...more })
const member = (...groups: string[]) => addUser(service, { operator_groups: groups })
const setGroups = ({ id }: { id: string }, ...groups: string[]) =>
  okAdmin(service, 'PATCH', `/admin/users/${id}`, { groups })
const setResource = ({ id }: { id: string }, change: object) =>
  okAdmin(service, 'PATCH', `/admin/resources/${id}`, change)

/** A browser in which the user is signed in. */
async function browserOf(user: { email: string }): Promise<Browser> {
  const browser = new Browser()
  await signIn(service, browser, await browser.open(`${service.issuer}/login`), user.email)
  return browser
}
const visit = async (browser: Browser, resource: { uri: string }, more: object = {}): Promise<Page> =>
  browser.follow(authorizeUrl(service, { client_id: client.client_id, resource: resource.uri, scope: BOTH, ...more }))
const linkTo = ({ text }: Page, label: RegExp): string => {
  const links = [...text.matchAll(/<a [^>]*href="([^"]*)"[^>]*>([^<]*)/g)]
  const [, href = ''] = links.find(([, , name = '']) => label.test(name)) ?? []
  return new URL(href.replaceAll('&amp;', '&'), service.issuer).href
}
const tokensOf = async (user: { email?: string }, resource: { uri: string }, fields: object = {}) =>
  (
    await redeem(
      service,
      client,
      await authorize(service, client, user, { resource: resource.uri, scope: BOTH, ...fields }),
    )
  ).body

describe('the authorization request', () => {
  test('a request without access shows a page with user and resource, a link back with access_denied, and a link to use another account', async () => {
    const [outsider, insider, resource] = [await member('guests'), await member('staff'), await staffOnly()]
    const browser = await browserOf(outsider)
    const page = await visit(browser, resource)
    expect([page.status, page.location]).toEqual([403, undefined])
    for (const name of [outsider.email, resource.display_name]) expect(page.text).toContain(name)
    expect(page.text).not.toContain('value="allow"')
    const back = new URL(linkTo(page, /^Return to/))
    expect(Object.fromEntries(back.searchParams)).toMatchObject({ error: 'access_denied', state: 'some-state' })
    const callback = await walk(service, linkTo(page, /^Use another account/), insider, browser)
    expect(callback.searchParams.get('code')).toMatch(/^ac_/)
  })

  test('a request without access redirects with access_denied at once for prompt=none and for clients that are not browsers', async () => {
    const [user, resource] = [await member(), await staffOnly()]
    const browser = await browserOf(user)
    const none = await visit(browser, resource, { prompt: 'none' })
    expect(new URL(none.location ?? '').searchParams.get('error')).toBe('access_denied')
    const query = { client_id: client.client_id, resource: resource.uri }
    const program = await browser.open(authorizeUrl(service, query), { headers: { accept: 'application/json' } })
    expect(new URL(program.location ?? '').searchParams.get('error')).toBe('access_denied')
  })

  test('an earlier consent does not replace access, and is valid again when access returns', async () => {
    const [user, resource] = [await member('staff'), await staffOnly()]
    await tokensOf(user, resource)
    const browser = await browserOf(user)
    await setGroups(user)
    expect((await visit(browser, resource)).status).toBe(403)
    await setGroups(user, 'staff')
    expect(new URL((await visit(browser, resource)).location ?? '').searchParams.get('code')).toMatch(/^ac_/)
  })

  test('scopes that the user may not have are not offered, and a request without a remaining scope is refused in the same way', async () => {
    const [user, resource] = [await member(), await forEditors()]
    const browser = await browserOf(user)
    const page = await visit(browser, resource)
    expect([page.text.includes('mcp:read'), page.text.includes('mcp:write')]).toEqual([true, false])
    expect((await visit(browser, resource, { scope: 'mcp:write' })).status).toBe(403)
  })

  test('a user without a session signs in first, and sees nothing about access before', async () => {
    const page = await visit(new Browser(), await staffOnly())
    expect([page.status, page.text.includes('type="password"')]).toEqual([200, true])
  })

  test('markup in the name of a user or a resource is shown as text', async () => {
    const resource = await staffOnly()
    await setResource(resource, { display_name: '<b>Notes</b>' })
    const page = await visit(await browserOf(await member()), resource)
    expect(page.text).toContain('&lt;b&gt;Notes')
  })
})

describe('code and refresh', () => {
  test('a code of a user who lost access is invalid_grant, and is valid again when access returns', async () => {
    const [user, resource] = [await member('staff'), await staffOnly()]
    const authorized = await authorize(service, client, user, { resource: resource.uri })
    await setGroups(user)
    expectRefused(await redeem(service, client, authorized), 'invalid_grant')
    await setGroups(user, 'staff')
    expect((await redeem(service, client, authorized)).status).toBe(200)
  })

  test('a refresh of a user who lost access revokes the family and its access tokens, also when access returns', async () => {
    const [user, resource] = [await member('staff'), await staffOnly()]
    const { access_token, refresh_token } = await tokensOf(user, resource)
    await setResource(resource, { access: { mode: 'restricted', groups: ['ops'] } })
    expectRefused(await refresh(service, client, refresh_token), 'invalid_grant')
    await setResource(resource, { access: { mode: 'everyone' } })
    expectRefused(await refresh(service, client, refresh_token), 'invalid_grant')
    expect(await isActive(service, client, access_token)).toBe(false)
  })

  test('a lost scope is omitted at a refresh and returns with the group; a request for only that scope is invalid_scope and revokes nothing', async () => {
    const [user, resource] = [await member('editors'), await forEditors()]
    let { refresh_token } = await tokensOf(user, resource)
    const next = async (scope?: string) => {
      const answer = await refresh(service, client, refresh_token, { scope })
      if (answer.status === 200) refresh_token = answer.body['refresh_token']
      return answer
    }
    await setGroups(user)
    expect((await next()).body['scope']).toBe('mcp:read')
    expectRefused(await next('mcp:write'), 'invalid_scope')
    await setGroups(user, 'editors')
    expect((await next()).body['scope']).toBe(BOTH)
  })

  test('a refresh without a remaining scope revokes the family', async () => {
    const [user, resource] = [await member('editors'), await forEditors()]
    const { refresh_token } = await tokensOf(user, resource, { scope: 'mcp:write' })
    await setGroups(user)
    expectRefused(await refresh(service, client, refresh_token), 'invalid_grant')
    await setGroups(user, 'editors')
    expectRefused(await refresh(service, client, refresh_token), 'invalid_grant')
  })
})

describe('introspection', () => {
  test('a token is inactive while its user has no access, and tokens of other resources are not affected', async () => {
    const [user, resource, open] = [await member('staff'), await staffOnly(), await addResource(service)]
    const [token, other] = [
      (await tokensOf(user, resource))['access_token'],
      (await tokensOf(user, open))['access_token'],
    ]
    const states = async () => [await isActive(service, client, token), await isActive(service, client, other)]
    await setGroups(user)
    expect(await states()).toEqual([false, true])
    await setGroups(user, 'staff')
    expect(await states()).toEqual([true, true])
  })

  test('a token has no scope that the user lost, and is inactive without a remaining scope', async () => {
    const [user, resource] = [await member('editors'), await forEditors()]
    const { access_token } = await tokensOf(user, resource)
    const { access_token: writer } = await tokensOf(user, resource, { scope: 'mcp:write' })
    await setGroups(user)
    expect(await introspect(service, client, access_token)).toMatchObject({ active: true, scope: 'mcp:read' })
    expect(await isActive(service, client, writer)).toBe(false)
  })
})

describe('exchange', () => {
  test('an exchange by a user without access to the target is refused with 403; the token of a user without access to the source is invalid', async () => {
    const { user, source, target, exchanged, introspected } = await exchangeScene(service)
    const { access_token } = (await exchanged()).body
    await setResource(target, { access: { mode: 'restricted', groups: ['staff'] } })
    expectRefused(await exchanged(), 'access_denied', 403)
    expect((await introspected(access_token))['active']).toBe(false)
    await setGroups(user, 'staff')
    expect(claimsOf(await exchanged())).toMatchObject({ sub: user.id, aud: [target.uri] })
    await setResource(source, { access: { mode: 'restricted', groups: ['ops'] } })
    expectRefused(await exchanged(), 'invalid_grant')
  })

  test('an exchange is narrowed to the scopes that the user may have, before a consent is required for the rest', async () => {
    const { target, exchanged } = await exchangeScene(service)
    await setResource(target, {
      scopes: [{ name: 'mcp:read' }, { name: 'mcp:write', groups: ['editors'] }],
    })
    expect(claimsOf(await exchanged({ scope: BOTH }))).toMatchObject({ scope: 'mcp:read' })
    expectRefused(await exchanged({ scope: 'mcp:write' }), 'access_denied', 403)
  })
})

describe('ID-JAG', () => {
  test('a mapped user needs access, and a subject that is not a local user is refused only at a restricted resource', async () => {
    const scene = await xaaScene(service)
    const { idp_id, resource } = scene
    const [insider, outsider] = [await member('staff'), await member()]
    await mapSubject(service, idp_id, 'insider', insider.id)
    await mapSubject(service, idp_id, 'outsider', outsider.id)
    const bring = async (sub: string) => scene.redeem(await scene.assertion({ claims: { sub } }))
    expect((await bring('stranger')).status).toBe(200)
    await setResource(resource, { access: { mode: 'restricted', groups: ['staff'] } })
    expect(claimsOf(await bring('insider'))).toMatchObject({ sub: insider.id })
    for (const sub of ['outsider', 'stranger']) expectRefused(await bring(sub), 'access_denied', 403)
  })

  test('trying an assertion step by step fails at the step access', async () => {
    const scene = await xaaScene(service)
    await setResource(scene.resource, { access: { mode: 'restricted' } })
    const body = { assertion: await scene.assertion(), client_id: scene.client.client_id }
    const tried = await okAdmin<{ steps: { check: string; result: string }[] }>(
      service,
      'POST',
      '/admin/try/id-jag',
      body,
    )
    expect(tried.steps.at(-1)).toMatchObject({ check: 'access', result: 'failed' })
    expect(tried.steps.at(-2)).toMatchObject({ check: 'subject', result: 'passed' })
  })
})

test('a refusal is audited with client, user, resource and rule, once for each family that it revokes', async () => {
  const [user, resource] = [await member('staff'), await staffOnly()]
  const open = await addClient(service, { token_endpoint_auth_method: 'none' })
  const authorized = await authorize(service, open, user, { resource: resource.uri })
  const { refresh_token } = (await redeem(service, open, authorized)).body
  await setGroups(user)
  for (let times = 0; times < 2; times++) expectRefused(await refresh(service, open, refresh_token), 'invalid_grant')
  const detail = { user_id: user.id, resource: resource.uri, rule: 'access' }
  const events = (await eventsOf(service, 'access_refused')).filter((event) => event.detail['user_id'] === user.id)
  expect(events).toMatchObject([{ client_id: open.client_id, actor_id: user.id, detail }])
  await visit(await browserOf(user), resource)
  expect((await eventsOf(service, 'access_refused'))[0]).toMatchObject({ client_id: client.client_id, detail })
})

describe('token_claims', () => {
  test('tokens have the claims of the time of issuing, introspection has the present claims, and tokens of machines have none', async () => {
    const resource = await addResource(service, { token_claims: ['groups', 'name'] })
    const user = await member('staff')
    const { access_token, refresh_token } = await tokensOf(user, resource)
    expect(decodeJwt(String(access_token))).toMatchObject({ groups: ['staff'], name: user.name })
    expect(decodeJwt(String(access_token))).not.toHaveProperty('email')
    await setGroups(user, 'ops')
    expect(await introspect(service, client, access_token)).toMatchObject({ groups: ['ops'], name: user.name })
    expect(claimsOf(await refresh(service, client, refresh_token))).toMatchObject({ groups: ['ops'] })
    await setResource(resource, { token_claims: [] })
    const seen = await introspect(service, client, access_token)
    expect([seen['active'], seen['groups'], seen['name']]).toEqual([true, undefined, undefined])
  })

  test('500 groups with long names are in introspection and not in the token', async () => {
    const groups = Array.from({ length: 500 }, (_, i) => `a-group-with-a-long-name-${i}`).sort()
    const resource = await addResource(service, { token_claims: ['groups', 'email'] })
    const user = await member(...groups)
    const { access_token } = await tokensOf(user, resource)
    expect(decodeJwt(String(access_token))).not.toHaveProperty('groups')
    expect(await introspect(service, client, access_token)).toMatchObject({ groups, email: user.email })
  })

  test('groups are in the token as long as it has at most oauth.max_token_bytes, and explain says the same', async () => {
    const resource = await addResource(service, { token_claims: ['groups', 'name'] })
    const { oauth } = service.app.config
    const [most, user] = [oauth.max_token_bytes, await member('staff')]
    let { access_token, refresh_token } = await tokensOf(user, resource)
    for (const less of [0, 1]) {
      oauth.max_token_bytes = String(access_token).length - less
      const answer = await refresh(service, client, refresh_token)
      refresh_token = answer.body['refresh_token']
      expect(claimsOf(answer)).toMatchObject({ name: user.name })
      expect('groups' in claimsOf(answer)).toBe(less === 0)
      expect(await introspect(service, client, answer.body['access_token'])).toMatchObject({ groups: ['staff'] })
      const asked = { grant: 'authorization_code', client_id: client.client_id, user: user.id, resource: resource.uri }
      const { claims } = await okAdmin<{ claims: object }>(service, 'POST', '/admin/try/explain', {
        ...asked,
        scope: 'mcp:read mcp:write',
      })
      expect('groups' in claims).toBe(less === 0)
    }
    oauth.max_token_bytes = most
  })
})

test('a resource with rules costs no read of the store more than one without, once the user is known', async () => {
  const reads = async (resource: { uri: string }) => {
    let { refresh_token } = await tokensOf(await member('staff', 'editors'), resource)
    refresh_token = (await refresh(service, client, refresh_token)).body['refresh_token']
    return storeCalls(service, async () => {
      expect((await refresh(service, client, refresh_token)).status).toBe(200)
    })
  }
  const plain = await reads(await addResource(service))
  expect(plain).toEqual(['findRefreshToken', 'rotateRefreshToken'])
  expect(
    await reads(await staffOnly({ scope_groups: { 'mcp:write': ['editors'] }, token_claims: ['groups'] })),
  ).toEqual(plain)
})

test('a change of a user at one instance applies at another instance without a notification', async () => {
  const [user, resource] = [await member('staff'), await staffOnly()]
  const { access_token, refresh_token } = await tokensOf(user, resource)
  expect(await isActive(service, client, access_token)).toBe(true)
  const { store } = service.app
  const stored = await store.findUser({ id: user.id })
  // Past the caches of this instance, as another instance would write.
  await store.driver.call('updateUser', { user: { ...stored, operator_groups: [] }, signOut: false, now: 1 })
  expect(await isActive(service, client, access_token)).toBe(false)
  expectRefused(await refresh(service, client, refresh_token), 'invalid_grant')
})

test('access rules do not apply to client_credentials', async () => {
  const machine = await addClient(service, { scope: BOTH })
  const resource = await staffOnly({ scope_groups: { 'mcp:write': ['editors'] } })
  const body = {
    client_id: machine.client_id,
    client_secret: machine.client_secret,
    resource: resource.uri,
    scope: BOTH,
  }
  const tried = await callAdmin<{ response: { access_token: string; scope: string } }>(
    service,
    'POST',
    '/admin/try/token',
    body,
  )
  expect(tried.body.response.scope).toBe(BOTH)
  expect(await introspect(service, machine, tried.body.response.access_token)).toMatchObject({
    active: true,
    scope: BOTH,
  })
})
