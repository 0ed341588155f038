// The granted part of a requested scope: for self-registered clients, for clients of operators, for machines, at refresh.
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import type { Browser } from '../support/browser.ts'
import { ask, DocumentServer, LOCAL_DOCUMENTS, refusalIn, signedIn } from '../support/documents.ts'
import { EXCHANGE, exchange } from '../support/exchange.ts'
import {
  type Authorized,
  authorize,
  authorizeUrl,
  claimsOf,
  decide,
  machineToken,
  redeem,
  refresh,
} from '../support/flow.ts'
import { addClient, addResource, addUser, REDIRECT_URI, startService, type TestService } from '../support/service.ts'

const BOTH = 'mcp:read mcp:write'
const NO_SCOPE_REQUIRED = { SERVICE_OAUTH_REQUIRE_SCOPE: 'false' }
const PUBLIC = { token_endpoint_auth_method: 'none' }
const SELF_REGISTERED = { registration_source: 'dcr' } as const

let service: TestService
let browser: Browser
let user: Awaited<ReturnType<typeof addUser>>
beforeAll(async () => {
  service = await startService(LOCAL_DOCUMENTS)
  user = await addUser(service)
  browser = await signedIn(service, user)
})
afterAll(() => service.close())

type Fields = Record<string, string | undefined>
type Known = Pick<Awaited<ReturnType<typeof addClient>>, 'client_id' | 'client_secret'>

/** The error in the redirect to the client for a request of the signed-in user. */
async function returned(fields: Fields, at = service, from = browser): Promise<string> {
  const page = await ask(at, from, fields)
  const query = new URL(page.location ?? 'x:').searchParams
  return query.has('error') ? `${query.get('error')}: ${query.get('error_description')}` : refusalIn(page)
}
/** The whole flow of the signed-in user. */
async function tokens(client: Known, fields: Fields, at = service, from = browser, person = user) {
  const authorized = await authorize(at, client, person, fields, from)
  expect(authorized.code, authorized.callback.href).not.toBe('')
  return redeem(at, client, authorized)
}
const granted = async (...input: Parameters<typeof tokens>) => (await tokens(...input)).body['scope']

describe('the scope of a self-registered client', () => {
  test('a self-registered scope is a default and no limit: consent and resource limit the grant', async () => {
    const [resource, client] = [
      await addResource(service),
      await addClient(service, { ...PUBLIC, scope: 'mcp:read' }, SELF_REGISTERED),
    ]
    expect(await granted(client, { resource: resource.uri, scope: BOTH })).toBe(BOTH)
  })

  test('a self-registered scope does not limit a later refresh', async () => {
    const [resource, client] = [
      await addResource(service),
      await addClient(service, { ...PUBLIC, scope: 'mcp:read' }, SELF_REGISTERED),
    ]
    const { body } = await tokens(client, { resource: resource.uri, scope: BOTH })
    expect((await refresh(service, client, body['refresh_token'])).body['scope']).toBe(BOTH)
  })

  test('a self-registered scope does not replace a missing scope when one is required', async () => {
    const [resource, client] = [
      await addResource(service),
      await addClient(service, { scope: 'mcp:read' }, SELF_REGISTERED),
    ]
    expect(await returned({ client_id: client.client_id, resource: resource.uri, scope: undefined })).toBe(
      `invalid_scope: scope is missing; ${resource.uri} declares mcp:read mcp:write; oauth.require_scope: false makes it optional`,
    )
  })

  test('a scope becomes a limit when an operator changes it, also for earlier grants', async () => {
    const [resource, client] = [
      await addResource(service),
      await addClient(service, { ...PUBLIC, scope: BOTH }, SELF_REGISTERED),
    ]
    const before = await tokens(client, { resource: resource.uri, scope: BOTH })
    const path = `/admin/clients/${client.client_id}`
    const shown = await okAdmin(service, 'PATCH', path, { scope: 'mcp:read' })
    expect([shown['scope'], shown['operator_set']]).toEqual(['mcp:read', { scope: 'mcp:read' }])
    expect((await refresh(service, client, before.body['refresh_token'])).body['scope']).toBe('mcp:read')
    expect(await granted(client, { resource: resource.uri, scope: BOTH })).toBe('mcp:read')
    expect(await returned({ client_id: client.client_id, resource: resource.uri, scope: 'mcp:write' })).toBe(
      `invalid_scope: not allowed: mcp:write; ${client.client_id} may have mcp:read`,
    )
    await okAdmin(service, 'PATCH', path, { scope: '' })
    expect(await granted(client, { resource: resource.uri, scope: BOTH })).toBe(BOTH)
  })

  test('A30 a default that grows needs a new consent, and a machine gets at most its registered scope', async () => {
    const documents = await DocumentServer.start()
    try {
      const resource = await addResource(service)
      const change = { scope: 'mcp:read' }
      const client = { client_id: documents.publish('/grows.json', change), client_secret: '' }
      const first = await tokens(client, { resource: resource.uri, scope: 'mcp:read' })
      documents.publish('/grows.json', { scope: BOTH })
      service.app.documents.known.delete(client.client_id)
      expect(
        (await ask(service, browser, { client_id: client.client_id, resource: resource.uri, scope: BOTH })).location,
      ).toContain('/consent?')
      const { refresh_token } = first.body
      expect((await refresh(service, client, refresh_token)).body['scope']).toBe('mcp:read')
      const machine = await addClient(service, { scope: 'mcp:read' }, SELF_REGISTERED)
      const more = { resource: resource.uri, scope: 'mcp:write' }
      expect((await machineToken(service, machine, more)).body).toMatchObject({ error: 'invalid_scope' })
      expect((await machineToken(service, machine, { scope: BOTH })).body).toMatchObject({ error: 'invalid_scope' })
    } finally {
      documents.close()
    }
  })
})

describe('the scope that an operator set', () => {
  test('an operator scope is a limit: other scopes are omitted, and a request without a remaining scope is refused with their names', async () => {
    const [resource, client] = [await addResource(service), await addClient(service, { scope: 'mcp:read' })]
    const { client_id } = client
    expect(await granted(client, { resource: resource.uri, scope: BOTH })).toBe('mcp:read')
    const refusal = `invalid_scope: not allowed: mcp:write; ${client_id} may have mcp:read`
    expect(await returned({ client_id, resource: resource.uri, scope: 'mcp:write' })).toBe(refusal)
    expect(await returned({ client_id, scope: 'mcp:write' })).toBe(refusal)
  })

  test('an empty operator scope limits nothing', async () => {
    const [resource, client] = [await addResource(service), await addClient(service, { scope: '' })]
    expect(await granted(client, { resource: resource.uri, scope: BOTH })).toBe(BOTH)
  })

  test('an operator scope limits a document client, and the scope of the document does not', async () => {
    const documents = await DocumentServer.start()
    try {
      const resource = await addResource(service, { scopes: ['mcp:read', 'mcp:write', 'mcp:admin'] })
      const client = { client_id: documents.publish('/limited.json', { scope: 'mcp:read' }), client_secret: '' }
      await tokens(client, { resource: resource.uri, scope: 'mcp:read' })
      const path = `/admin/clients/${encodeURIComponent(client.client_id)}`
      await okAdmin(service, 'PATCH', path, { scope: BOTH })
      expect(await granted(client, { resource: resource.uri, scope: `${BOTH} mcp:admin` })).toBe(BOTH)
    } finally {
      documents.close()
    }
  })
})

describe('without oauth.require_scope, a request without scope', () => {
  test('a missing scope means the default of the client, or all scopes of the resource, within the operator limit', async () => {
    const lenient = await startService(NO_SCOPE_REQUIRED)
    try {
      const [resource, person] = [await addResource(lenient), await addUser(lenient)]
      const from = await signedIn(lenient, person)
      const asked = { resource: resource.uri, scope: undefined }
      const cases: [string, object, string][] = [
        ['mcp:read', SELF_REGISTERED, 'mcp:read'],
        ['', SELF_REGISTERED, BOTH],
        ['openid email', SELF_REGISTERED, BOTH],
        ['mcp:write', {}, 'mcp:write'],
        ['', {}, BOTH],
      ]
      for (const [scope, record, expected] of cases) {
        const client = await addClient(lenient, { ...PUBLIC, scope }, record)
        expect(await granted(client, asked, lenient, from, person), scope).toBe(expected)
      }
      const { client_id } = await addClient(lenient, { scope: 'openid' })
      expect(await returned({ ...asked, client_id }, lenient, from)).toBe(
        `invalid_scope: scope is missing, and there is no default; ${resource.uri} declares mcp:read mcp:write`,
      )
      const elsewhere = await addClient(lenient, { scope: 'mcp:read other' }, SELF_REGISTERED)
      expect(await granted(elsewhere, { scope: undefined, resource: undefined }, lenient, from, person)).toBe(
        'mcp:read',
      )
    } finally {
      await lenient.close()
    }
  })
})

describe('a scope parameter', () => {
  test('spaces around and between scope names are accepted', async () => {
    const [resource, client] = [await addResource(service), await addClient(service)]
    const odd = '  mcp:read   mcp:write '
    const { body } = await tokens(client, { resource: resource.uri, scope: odd })
    expect(body['scope']).toBe(BOTH)
    expect((await refresh(service, client, body['refresh_token'], { scope: ' mcp:write ' })).body['scope']).toBe(
      'mcp:write',
    )
    expect((await machineToken(service, client, { scope: odd, resource: resource.uri })).body['scope']).toBe(BOTH)
  })

  test('an empty or blank scope counts as missing', async () => {
    const [resource, client] = [await addResource(service), await addClient(service)]
    for (const scope of ['', '  ']) {
      expect(await returned({ client_id: client.client_id, resource: resource.uri, scope })).toMatch(
        /^invalid_scope: scope is missing/,
      )
      expect((await machineToken(service, client, { scope, resource: resource.uri })).body['scope']).toBe(BOTH)
    }
  })

  test('unsupported scopes of OpenID Connect are omitted at every grant', async () => {
    const [resource, client] = [await addResource(service), await addClient(service)]
    const scope = 'openid mcp:read profile email offline_access'
    const { body } = await tokens(client, { resource: resource.uri, scope })
    expect(body['scope']).toBe('mcp:read')
    expect((await refresh(service, client, body['refresh_token'], { scope })).body['scope']).toBe('mcp:read')
    for (const asked of [{ scope }, { scope, resource: resource.uri }])
      expect((await machineToken(service, client, asked)).body['scope']).toBe('mcp:read')
    expect(await returned({ client_id: client.client_id, resource: resource.uri, scope: 'openid' })).toMatch(
      /^invalid_scope: scope is missing/,
    )
  })

  test('unsupported scopes of OpenID Connect are also omitted from the registered scope of a machine', async () => {
    await addResource(service)
    const client = await addClient(service, { scope: 'openid mcp:read' })
    for (const scope of [undefined, 'openid', 'openid mcp:read'])
      expect((await machineToken(service, client, { scope })).body['scope'], scope).toBe('mcp:read')
  })

  test('a scope with the name of an OpenID Connect scope is granted when the resource declares it', async () => {
    const resource = await addResource(service, { scopes: ['email', 'mcp:read'] })
    const client = await addClient(service, { scope: '' })
    expect(await granted(client, { resource: resource.uri, scope: 'openid email' })).toBe('email')
  })
})

describe('a resource without scopes', () => {
  const setUp = async () => ({
    plain: await addResource(service, { scopes: [] }),
    client: await addClient(service),
  })

  test('a resource without scopes needs no scope: its tokens have none, at every grant', async () => {
    const { plain, client } = await setUp()
    await addResource(service)
    for (const scope of [undefined, 'openid profile', BOTH]) {
      const answer = await tokens(client, { resource: plain.uri, scope })
      const again = await refresh(service, client, answer.body['refresh_token'], { scope })
      const own = await machineToken(service, client, { resource: plain.uri, scope })
      for (const each of [answer, again, own]) {
        expect(claimsOf(each)).not.toHaveProperty('scope')
        expect(each.body).not.toHaveProperty('scope')
      }
    }
  })

  test('a scope that no resource declares is refused', async () => {
    const { plain, client } = await setUp()
    const asked = { resource: plain.uri, scope: 'made:up' }
    const refusal = 'the resource does not declare made:up; it declares none'
    expect(await returned({ client_id: client.client_id, ...asked })).toBe(`invalid_scope: ${refusal}`)
    expect((await machineToken(service, client, asked)).body['error_description']).toBe(refusal)
    const { body } = await tokens(client, { resource: plain.uri, scope: undefined })
    expect((await refresh(service, client, body['refresh_token'], { scope: 'made:up' })).body['error']).toBe(
      'invalid_scope',
    )
  })

  test('a resource without scopes is consented to as a whole, and the consent is remembered', async () => {
    const { plain, client } = await setUp()
    const url = authorizeUrl(service, { client_id: client.client_id, resource: plain.uri, scope: undefined })
    const page = await browser.follow(url)
    expect(page.text).toContain('can use all of it')
    expect((await decide(service, browser, page, 'allow')).location).toContain('code=')
    expect((await browser.follow(url)).location).toContain('code=')
  })

  test('A31 a consent to some scopes does not cover the resource after its scopes were removed', async () => {
    const [resource, client] = [await addResource(service), await addClient(service)]
    const { body } = await tokens(client, { resource: resource.uri, scope: 'mcp:read' })
    await okAdmin(service, 'PATCH', `/admin/resources/${resource.id}`, { scopes: [] })
    const asked = { client_id: client.client_id, resource: resource.uri, scope: undefined }
    expect((await ask(service, browser, asked)).location).toContain('/consent?')
    expect((await refresh(service, client, body['refresh_token'])).body['error']).toBe('invalid_scope')
  })

  test('a resource without scopes is a target of token exchange when the user consented to it', async () => {
    const { plain } = await setUp()
    const resource = await addResource(service)
    const client = await addClient(service, {}, { grant_types: ['authorization_code', EXCHANGE] })
    const { body } = await tokens(client, { resource: resource.uri, scope: 'mcp:read' })
    const asked = { resource: plain.uri, subject_token: String(body['access_token']) }
    expect((await exchange(service, client, asked)).body).toMatchObject({ error: 'consent_required' })
    await tokens(client, { resource: plain.uri, scope: undefined })
    for (const scope of [undefined, BOTH])
      expect(claimsOf(await exchange(service, client, { ...asked, scope }))).not.toHaveProperty('scope')
  })
})

describe('a machine request that names a resource', () => {
  test('a machine request is narrowed to the scopes that the client may have and the resource declares', async () => {
    const [resource, other] = [await addResource(service), await addResource(service, { scopes: ['other:read'] })]
    const client = await addClient(service, { scope: 'mcp:read other:read' })
    const asking = async (scope: string) =>
      (await machineToken(service, client, { scope, resource: resource.uri })).body
    expect(decodeJwt(String((await asking(BOTH))['access_token']))).toMatchObject({
      scope: 'mcp:read',
      aud: [resource.uri],
    })
    expect((await asking(`${BOTH} ${other.scopes[0]?.name}`))['scope']).toBe('mcp:read')
    expect((await asking('mcp:write'))['error_description']).toBe(
      `not allowed: mcp:write; ${client.client_id} may have mcp:read other:read`,
    )
    expect((await asking('other:read'))['error']).toBe('invalid_scope')
    expect((await asking('mcp:read made:up'))['error_description']).toBe(
      'the resource does not declare made:up; it declares mcp:read mcp:write',
    )
  })

  test('with oauth.narrow_scopes off a machine or authorization request beyond the client scope is refused', async () => {
    const strict = await startService({ SERVICE_OAUTH_NARROW_SCOPES: 'false' })
    try {
      const [resource, client] = [await addResource(strict), await addClient(strict, { scope: 'mcp:read' })]
      const asked = { scope: BOTH, resource: resource.uri }
      expect((await machineToken(strict, client, asked)).body['error']).toBe('invalid_scope')
      expect((await machineToken(strict, client, { ...asked, scope: 'mcp:read' })).body['scope']).toBe('mcp:read')
      const page = await ask(strict, browser, { client_id: client.client_id, ...asked })
      expect(new URL(page.location ?? '').searchParams.get('error')).toBe('invalid_scope')
    } finally {
      await strict.close()
    }
  })
})

test('C19 a machine request without a resource gets exactly the requested scope, within its registered scope', async () => {
  await addResource(service)
  const client = await addClient(service, { scope: 'mcp:read' })
  expect((await machineToken(service, client, { scope: 'mcp:read' })).body['scope']).toBe('mcp:read')
  for (const scope of [BOTH, 'mcp:write'])
    expect((await machineToken(service, client, { scope })).body['error']).toBe('invalid_scope')
})

describe('a refresh request', () => {
  /** The tokens of a user who approved only `approved` of the requested scopes. */
  async function narrowedBy(approved: string[], scope: string, at = service, from = browser) {
    const [resource, client] = [
      await addResource(at, { scopes: ['mcp:read', 'mcp:write', 'mcp:admin'] }),
      await addClient(at, { scope: '' }),
    ]
    const challenge = { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM' }
    const page = await from.follow(
      authorizeUrl(at, { client_id: client.client_id, resource: resource.uri, scope, ...challenge }),
    )
    const { location } = await decide(at, from, page, 'allow', approved)
    const authorized = {
      code: new URL(location ?? '').searchParams.get('code'),
      verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
    }
    const { body } = await redeem(at, client, authorized as Authorized, { redirect_uri: REDIRECT_URI })
    return { client, resource, refresh_token: body['refresh_token'] }
  }

  test('a refresh may repeat the requested scope: the scopes that the user denied are omitted', async () => {
    const { client, refresh_token } = await narrowedBy(['mcp:read'], BOTH)
    const { body } = await refresh(service, client, refresh_token, { scope: BOTH })
    expect(body['scope']).toBe('mcp:read')
    expect((await refresh(service, client, body['refresh_token'], { scope: BOTH })).body['scope']).toBe('mcp:read')
  })

  test('a refresh may repeat scopes that were omitted because only other resources declare them', async () => {
    await addResource(service, { scopes: ['other:read'] })
    const { client, refresh_token } = await narrowedBy(['mcp:read'], 'mcp:read other:read')
    expect((await refresh(service, client, refresh_token, { scope: 'mcp:read other:read' })).body['scope']).toBe(
      'mcp:read',
    )
  })

  test('D16 a refresh for scopes that were never requested, or only for denied ones, is refused and consumes nothing', async () => {
    const { client, refresh_token } = await narrowedBy(['mcp:read'], BOTH)
    for (const scope of ['mcp:admin', 'mcp:read mcp:admin', 'mcp:write'])
      expect((await refresh(service, client, refresh_token, { scope })).body['error'], scope).toBe('invalid_scope')
    expect((await refresh(service, client, refresh_token)).body['scope']).toBe('mcp:read')
  })

  test('D17 a retry within the grace period for a wider scope or another resource is refused and revokes nothing', async () => {
    const graceful = await startService({ SERVICE_OAUTH_REFRESH_GRACE: '30s' })
    try {
      const from = await signedIn(graceful, await addUser(graceful))
      const { client, refresh_token } = await narrowedBy(['mcp:read'], BOTH, graceful, from)
      const other = await addResource(graceful)
      const first = await refresh(graceful, client, refresh_token)
      for (const fields of [{ scope: 'mcp:admin' }, { scope: 'mcp:read mcp:admin' }, { resource: other.uri }])
        expect((await refresh(graceful, client, refresh_token, fields)).status).toBe(400)
      const retry = await refresh(graceful, client, refresh_token, { scope: BOTH })
      expect([retry.body['scope'], retry.body['refresh_token']]).toEqual(['mcp:read', first.body['refresh_token']])
    } finally {
      await graceful.close()
    }
  })
})
