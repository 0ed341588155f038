// Section M of the attack list: what an operator, who may not change providers, gets of the tokens of providers.
import { generateKeyPairSync } from 'node:crypto'
import { decodeJwt, importSPKI, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { User } from '../../src/records/user.ts'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { addBrokerResource, addProvider, aMember, brokerScene, startBroker, vended } from '../support/broker.ts'
import { addExchanger, exchange } from '../support/exchange.ts'
import { expectRefused } from '../support/flow.ts'
import { aSlug } from '../support/records.ts'
import { addResource, PASSWORD, type TestService } from '../support/service.ts'
import { pemOf, serviceAccountScene } from '../support/service_account.ts'

let service: TestService
let key: string
beforeAll(async () => {
  service = await startBroker({ CONNECTOR_SA_KEY: pemOf(generateKeyPairSync('rsa', { modulusLength: 2048 })) })
  const made = { name: 'support', capability: 'operator' }
  ;({ key } = await okAdmin<{ key: string }>(service, 'POST', '/admin/api-keys', made))
})
afterAll(() => service.close())

const asOperator = <B = Record<string, unknown>>(method: string, path: string, body?: object) =>
  callAdmin<B>(service, method, path, body, {
    authorization: `Bearer ${key}`,
    ...(body ? { 'content-type': 'application/json' } : {}),
  })

describe('M14 impersonate: email', () => {
  test('a user whom an operator created with the email of another person gets no token of that person', async () => {
    const { app, vend, assertions } = await serviceAccountScene(service, { impersonate: 'email' })
    const email = 'ceo@corp.example.com'
    const made = await asOperator<User>('POST', '/admin/users', { email, password: PASSWORD, name: 'CEO' })
    expect(made.status).toBe(201)
    // The operator knows the password of the user, and gets a token with it.
    const mallory = await aMember(service, app, undefined, { id: made.body.id, email })
    expectRefused(await vend(mallory), 'access_denied', 403)
    expect(assertions).toEqual([])
  })

  test('an operator cannot make the connection, and a later email of the user changes nothing for one that an admin made', async () => {
    const { vend, upstream, assertions, member, provider, connectAccount } = await serviceAccountScene(service, {
      impersonate: 'email',
    })
    const wanted = { user_id: member.user.id, broker_provider: provider.slug, impersonate_sub: 'ceo@corp.example.com' }
    expect((await asOperator('POST', '/admin/grants/broker', wanted)).status).toBe(403)
    // The email of the user, which an operator may have written, is no subject either.
    expect((await connectAccount({ impersonate_sub: undefined })).status).toBe(400)
    expect((await connectAccount()).body).toMatchObject({ impersonate_sub: member.user.email })
    const email = `other-${member.user.email}`
    expect((await asOperator('PATCH', `/admin/users/${member.user.id}`, { email })).status).toBe(200)
    vended(await vend(), upstream)
    expect(decodeJwt(assertions[0] ?? '').sub).toBe(member.user.email)
  })
})

describe('M15 the password of a user with connections', () => {
  const changes = (id: string) =>
    [
      ['PATCH', `/admin/users/${id}`, { password: 'a password of the operator' }],
      ['POST', `/admin/users/${id}/password-link`, {}],
    ] as const

  test.each([0, 1])('is not set by an operator, until the connections have ended (%i)', async (which) => {
    const { connect, member, grant } = await brokerScene(service)
    await connect()
    const [method, path, body] = changes(member.user.id)[which] ?? changes(member.user.id)[0]
    const before = await service.app.store.findUser(member.user)
    expect(await asOperator(method, path, body)).toMatchObject({ status: 403, body: { error: 'access_denied' } })
    expect(await service.app.store.findUser(member.user)).toEqual(before)
    expect((await asOperator('DELETE', `/admin/grants/broker/${(await grant())?.id}`)).status).toBe(204)
    expect((await asOperator(method, path, body)).status).toBe(200)
  })

  test('is set by an admin, with the connections', async () => {
    const { connect, member, grant } = await brokerScene(service)
    await connect()
    for (const [method, path, body] of changes(member.user.id)) await okAdmin(service, method, path, body)
    expect((await grant())?.revoked_at).toBeUndefined()
  })

  test('is not set with a link that an operator made before the user connected', async () => {
    const { connect, member } = await brokerScene(service)
    const { body } = await asOperator<{ url: string }>('POST', `/admin/users/${member.user.id}/password-link`, {})
    await connect()
    expect((await fetch(body.url)).status).toBeGreaterThanOrEqual(400)
  })

  test('is set by an operator if the account of the provider is that of every user', async () => {
    const { vend, upstream, member } = await serviceAccountScene(service, { impersonate: 'account' })
    vended(await vend(), upstream)
    for (const [method, path, body] of changes(member.user.id))
      expect((await asOperator(method, path, body)).status).toBe(200)
  })
})

describe('M16 the upstream scopes of a service account', () => {
  const scope = (upstream: string) => [{ name: 'files:read', description: 'Read', upstream }]

  test('an operator adds none: not to a resource, nor with a new resource', async () => {
    const { provider, resource } = await serviceAccountScene(service, { impersonate: 'account' })
    const path = `/admin/resources/${resource.id}`
    const before = await okAdmin(service, 'GET', path)
    expect((await asOperator('PATCH', path, { scopes: scope('up.read up.everything') })).status).toBe(403)
    const made = { slug: aSlug(), backend_kind: 'broker', broker_provider_slug: provider.slug }
    expect((await asOperator('POST', '/admin/resources', { ...made, scopes: scope('up.everything') })).status).toBe(403)
    expect(await okAdmin(service, 'GET', path)).toEqual(before)
    expect((await callAdmin(service, 'GET', `/admin/resources/${made.slug}`)).status).toBe(404)
  })

  test('a resource of another provider does not get one by a change of its provider', async () => {
    const { provider } = await serviceAccountScene(service, { impersonate: 'account' })
    const other = await addBrokerResource(service, await addProvider(service))
    const move = { broker_provider_slug: provider.slug }
    expect((await asOperator('PATCH', `/admin/resources/${other.id}`, move)).status).toBe(403)
  })

  test('an operator still changes the rest, and an admin everything', async () => {
    const { resource } = await serviceAccountScene(service, { impersonate: 'account' })
    const path = `/admin/resources/${resource.id}`
    expect((await asOperator('PATCH', path, { access: { mode: 'everyone' }, scopes: scope('up.read') })).status).toBe(
      200,
    )
    await okAdmin(service, 'PATCH', path, { scopes: scope('up.read up.everything') })
    const fields = (await eventsOf(service, 'resource_updated'))[0]?.detail
    expect(fields).toMatchObject({ resource_id: resource.id, fields: ['scopes'] })
  })
})

const LUNCH = 'See the lunch menu'
/** A resource of the operator, to whose scopes the member consents. `own` is the client of the operator. */
async function operatorScene(scopes: string[], more: { resource?: Parameters<typeof addBrokerResource>[2] } = {}) {
  const scene = await brokerScene(service, more)
  await scene.connect()
  const own = await addExchanger(service, { scope: scopes.join(' ') })
  const slug = aSlug()
  const record = { slug, uri: `https://${slug}.example.com/api`, backend_kind: 'mint' }
  const described = scopes.map((name) => ({ name, description: LUNCH }))
  return { ...scene, own, record: { ...record, scopes: described } }
}
const resourcePath = (name: string) => `/admin/resources/${name}`

describe('M21 which token of a provider a client gets for another person', () => {
  test('an operator makes no broker resource, and turns no mint resource into one', async () => {
    const { provider, record, own, member, upstream } = await operatorScene(['menu:read'])
    const broker = { backend_kind: 'broker', broker_provider_slug: provider.slug }
    const scopes = [{ name: 'menu:read', description: LUNCH, upstream: 'up.read' }]
    expect((await asOperator('POST', '/admin/resources', { ...record, ...broker, scopes })).status).toBe(403)
    const runtime = { client_ids: [own.client_id] }
    expect((await asOperator('POST', '/admin/resources', { ...record, policy: { runtime } })).status).toBe(201)
    expect((await asOperator('PATCH', resourcePath(record.slug), { ...broker, scopes })).status).toBe(403)
    const subject_token = (await member.signIn(own, record, 'menu:read')).body['access_token']
    const answer = await exchange(service, own, { subject_token, resource: record.uri, scope: 'menu:read' })
    expect(upstream.given).not.toContain(answer.body['access_token'])
  })

  const WIDER: [string, (given: { client_id: string; provider: string }) => object][] = [
    ['another upstream scope', () => ({ scopes: [{ name: 'files:read', description: 'Read', upstream: 'up.write' }] })],
    ['a further scope', () => ({ scopes: [{ name: 'menu:read', description: LUNCH, upstream: 'up.read' }] })],
    ['another text', () => ({ scopes: [{ name: 'files:read', description: LUNCH, upstream: 'up.read' }] })],
    ['another URI', () => ({ uri: 'https://moved.example.com/api' })],
    ['another name', () => ({ display_name: 'Lunch' })],
    ['another provider', ({ provider }) => ({ broker_provider_slug: provider })],
    ['another kind', () => ({ backend_kind: 'mint' })],
    ['a client that exchanges', ({ client_id }) => ({ policy: { exchange: { allowed_client_ids: [client_id] } } })],
    ['a server', ({ client_id }) => ({ policy: { runtime: { client_ids: [client_id] } } })],
    ['no list of clients', () => ({ policy: { exchange: { allowed_client_ids: [] } } })],
  ]
  test.each(WIDER)('an operator does not give a broker resource %s, and an admin does', async (_what, change) => {
    const { resource } = await brokerScene(service)
    const { client_id } = await addExchanger(service)
    const body = change({ client_id, provider: (await addProvider(service)).slug })
    const before = await okAdmin(service, 'GET', resourcePath(resource.id))
    expect(await asOperator('PATCH', resourcePath(resource.id), body)).toMatchObject({
      status: 403,
      body: { error: 'access_denied' },
    })
    expect(await okAdmin(service, 'GET', resourcePath(resource.id))).toEqual(before)
    await okAdmin(service, 'PATCH', resourcePath(resource.id), body)
  })

  test.each(['exchange/allowed-clients', 'runtime/client-ids'])('nor a client by %s, but removes one', async (list) => {
    const { resource, gateway } = await brokerScene(service)
    const other = await addExchanger(service)
    const path = `${resourcePath(resource.slug)}/policy/${list}`
    expect((await asOperator('POST', path, { client_id: other.client_id })).status).toBe(403)
    for (const { client_id } of [gateway, other]) await okAdmin(service, 'POST', path, { client_id })
    expect((await asOperator('DELETE', `${path}/${other.client_id}`)).status).toBe(200)
  })

  test('an operator makes and widens no fronting link to a broker resource, but narrows and deletes one', async () => {
    const { own, record, resource, member, upstream } = await operatorScene(['menu:read'], { resource: { policy: {} } })
    const policy = { runtime: { client_ids: [own.client_id] } }
    expect((await asOperator('POST', '/admin/resources', { ...record, policy })).status).toBe(201)
    const link = (...names: string[]) => ({ scope_map: { 'menu:read': names } })
    const made = { source: record.slug, target: resource.slug, ...link('files:read') }
    for (const query of ['', '?dry_run=true'])
      expect((await asOperator('POST', `/admin/fronting${query}`, made)).status).toBe(403)
    const subject_token = (await member.signIn(own, record, 'menu:read')).body['access_token']
    const vendOwn = () => exchange(service, own, { subject_token, resource: resource.uri, scope: 'files:read' })
    expectRefused(await vendOwn(), 'invalid_request')
    await okAdmin(service, 'POST', '/admin/fronting', { ...made, ...link('files:read', 'files:write') })
    vended(await vendOwn(), upstream)
    const path = `/admin/fronting/${record.slug}/${resource.slug}`
    expect((await asOperator('PATCH', path, link('files:read'))).status).toBe(200)
    expect((await asOperator('PATCH', path, link('files:read', 'files:write'))).status).toBe(403)
    // The gateway of the link: users agree to its texts, and its servers use the link.
    const other = await addExchanger(service)
    const servers = `${resourcePath(record.slug)}/policy/runtime/client-ids`
    expect((await asOperator('POST', servers, { client_id: other.client_id })).status).toBe(403)
    const renamed = { scopes: [{ name: 'menu:read', description: 'Nothing' }] }
    expect((await asOperator('PATCH', resourcePath(record.slug), renamed)).status).toBe(403)
    expect((await asOperator('DELETE', path)).status).toBe(204)
    expect((await asOperator('PATCH', resourcePath(record.slug), renamed)).status).toBe(200)
  })

  test('an operator makes no server of a mint resource whose consents count at a broker resource without a list', async () => {
    const { own, record, resource, member } = await operatorScene(['files:read'], { resource: { policy: {} } })
    const policy = { runtime: { client_ids: [own.client_id] } }
    expect((await asOperator('POST', '/admin/resources', { ...record, policy })).status).toBe(403)
    expect((await asOperator('POST', '/admin/resources', record)).status).toBe(201)
    const servers = `${resourcePath(record.slug)}/policy/runtime/client-ids`
    expect((await asOperator('POST', servers, { client_id: own.client_id })).status).toBe(403)
    await member.consent(own, record, 'files:read')
    const subject_token = (await member.signIn(own, undefined, 'files:read')).body['access_token']
    const answer = await exchange(service, own, { subject_token, resource: resource.uri, scope: 'files:read' })
    expectRefused(answer, 'access_denied', 403)
  })

  test('an operator still makes and changes mint resources, links between them, and who may use a broker resource', async () => {
    const { record, own, resource } = await operatorScene(['menu:read'])
    const policy = { runtime: { client_ids: [own.client_id] } }
    expect((await asOperator('POST', '/admin/resources', { ...record, policy })).status).toBe(201)
    const scopes = [...record.scopes, { name: 'menu:write', description: 'Change it' }]
    expect((await asOperator('PATCH', resourcePath(record.slug), { display_name: 'Menu', scopes })).status).toBe(200)
    const target = await addResource(service, { scopes: ['a:b'] })
    const link = { source: record.slug, target: target.slug, scope_map: { 'menu:read': ['a:b'] } }
    expect((await asOperator('POST', '/admin/fronting', link)).status).toBe(201)
    const access = { mode: 'restricted', groups: ['staff'] }
    expect((await asOperator('PATCH', resourcePath(resource.id), { access, scopes: [] })).status).toBe(200)
    expect((await asOperator('DELETE', resourcePath(resource.id))).status).toBe(204)
  })
})

const keySet = () => ({
  keys: [{ ...generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }), alg: 'EdDSA', kid: aSlug() }],
})
const WORKLOAD = { issuer: 'https://tokens.example.com', subject: 'ci', jwks_uri: 'https://tokens.example.com/keys' }
const clientPath = ({ client_id }: { client_id: string }) => `/admin/clients/${encodeURIComponent(client_id)}`

describe('M22 the credentials of a client that gets tokens of a provider', () => {
  test('an operator rotates no secret of a client on the list, and an admin does', async () => {
    const { connect, vend, upstream, gateway, app } = await brokerScene(service)
    await connect()
    const rotate = `${clientPath(gateway)}/rotate-secret`
    for (const body of [{}, { overlap: '1h' }]) {
      const refused = await asOperator('POST', rotate, body)
      expect(refused).toMatchObject({ status: 403, body: { error: 'access_denied' } })
      expect(refused.body).not.toHaveProperty('client_secret')
    }
    vended(await vend(), upstream)
    expect((await asOperator('POST', `${clientPath(app)}/rotate-secret`, {})).status).toBe(200)
    await okAdmin(service, 'POST', rotate, {})
  })

  const CREDENTIALS: [string, string, object, object][] = [
    ['key', 'private_key_jwt', { jwks: keySet() }, { jwks: keySet() }],
    ['URL of keys', 'private_key_jwt', { jwks: keySet() }, { jwks_uri: 'https://operator.example.com/keys' }],
    [
      'workload',
      'federated_jwt',
      { federated_credentials: [WORKLOAD] },
      { federated_credentials: [{ ...WORKLOAD, subject: 'x' }] },
    ],
    ['redirect URI', 'none', {}, { redirect_uris: ['https://app.example.com/cb', 'https://operator.example.com/cb'] }],
  ]
  test.each(CREDENTIALS)('nor gives it another %s', async (_what, token_endpoint_auth_method, made, change) => {
    const { resource } = await brokerScene(service)
    const redirect_uris = ['https://app.example.com/cb']
    const body = { client_name: 'Listed', redirect_uris, token_endpoint_auth_method, ...made }
    const listed = await okAdmin<{ client_id: string }>(service, 'POST', '/admin/clients', body)
    const list = `${resourcePath(resource.slug)}/policy/exchange/allowed-clients`
    await okAdmin(service, 'POST', list, { client_id: listed.client_id })
    const before = await okAdmin(service, 'GET', clientPath(listed))
    expect((await asOperator('PATCH', clientPath(listed), change)).status).toBe(403)
    expect(await okAdmin(service, 'GET', clientPath(listed))).toEqual(before)
    expect((await asOperator('DELETE', `${list}/${listed.client_id}`)).status).toBe(200)
    expect((await asOperator('PATCH', clientPath(listed), change)).status).toBe(200)
  })

  test('nor keeps a document for it that has another redirect URI, another key, or no authentication', async () => {
    const { resource } = await brokerScene(service)
    const client_id = 'https://app.invalid/client.json'
    const documentOf = (changes: object) => ({
      ...{ client_id, client_name: 'Listed', redirect_uris: ['https://app.example.com/cb'], jwks: keySet() },
      ...{ token_endpoint_auth_method: 'private_key_jwt', ...changes },
    })
    const document = documentOf({})
    await okAdmin(service, 'POST', '/admin/clients', { client_id, document })
    const list = `${resourcePath(resource.slug)}/policy/exchange/allowed-clients`
    await okAdmin(service, 'POST', list, { client_id })
    const before = await okAdmin(service, 'GET', clientPath({ client_id }))
    const keep = async (changes: object) =>
      (await asOperator('PATCH', clientPath({ client_id }), { document: { ...document, ...changes } })).status
    for (const changes of [
      { redirect_uris: ['https://operator.example.com/cb'] },
      { jwks: keySet() },
      { jwks: undefined, jwks_uri: 'https://operator.example.com/keys' },
      { token_endpoint_auth_method: 'none' },
      { token_endpoint_auth_methods_supported: ['private_key_jwt', 'none'] },
    ])
      expect([await keep(changes), changes]).toEqual([403, changes])
    expect(await okAdmin(service, 'GET', clientPath({ client_id }))).toEqual(before)
    expect(await keep({ client_name: 'Renamed' })).toBe(200)
  })

  test('the servers of the gateway of a link, and of a resource whose consents count, are protected too', async () => {
    const { own, record, resource } = await operatorScene(['menu:read'], { resource: { policy: {} } })
    const rotate = () => asOperator('POST', `${clientPath(own)}/rotate-secret`, {})
    const policy = { runtime: { client_ids: [own.client_id] } }
    expect((await asOperator('POST', '/admin/resources', { ...record, policy })).status).toBe(201)
    expect((await rotate()).status).toBe(200)
    const link = { source: record.slug, target: resource.slug, scope_map: { 'menu:read': ['files:read'] } }
    await okAdmin(service, 'POST', '/admin/fronting', link)
    expect((await rotate()).status).toBe(403)
    expect((await asOperator('DELETE', `/admin/fronting/${record.slug}/${resource.slug}`)).status).toBe(204)
    expect((await rotate()).status).toBe(200)
    const scopes = [{ name: 'files:read', description: 'Read' }]
    await okAdmin(service, 'PATCH', resourcePath(record.slug), { scopes })
    expect((await rotate()).status).toBe(403)
  })

  test('a client that an operator deletes and creates again with the same id is on no list', async () => {
    const { connect, vend, resource, gateway } = await brokerScene(service)
    await connect()
    const list = `${resourcePath(resource.slug)}/policy/exchange/allowed-clients`
    await okAdmin(service, 'POST', list, { client_id: (await addExchanger(service)).client_id })
    expect((await asOperator('DELETE', `${clientPath(gateway)}?force=true`)).status).toBe(204)
    const { client_id, redirect_uris, grant_types, scope } = gateway
    const again = { client_id, client_name: 'Again', redirect_uris, grant_types, scope }
    const made = await asOperator<{ client_secret: string }>('POST', '/admin/clients', {
      ...again,
      token_endpoint_auth_method: 'client_secret_basic',
    })
    expect(made.status).toBe(201)
    const { client_secret } = made.body
    expectRefused(await vend({}, undefined, { ...gateway, client_secret }), 'access_denied', 403)
  })

  test('an operator creates no client with an id that a list has without a client', async () => {
    const { resource } = await brokerScene(service)
    const client_id = aSlug()
    const stored = await service.app.store.findResourceByName({ name: resource.slug })
    if (!stored) throw new Error('the resource is stored')
    const policy = { ...stored.policy, exchange: { allowed_client_ids: [client_id] } }
    expect(await service.app.store.updateResource({ ...stored, policy })).toBe('updated')
    const body = { client_id, client_name: 'Orphan', redirect_uris: ['https://app.example.com/cb'] }
    expect((await asOperator('POST', '/admin/clients', body)).status).toBe(403)
    await okAdmin(service, 'POST', '/admin/clients', body)
  })

  test('an operator still ends secrets, removes redirect URIs, renames, suspends and deletes a client on the list', async () => {
    const { resource, gateway } = await brokerScene(service)
    const other = await addExchanger(service, {
      redirect_uris: ['https://a.example.com/cb', 'https://b.example.com/cb'],
    })
    const list = `${resourcePath(resource.slug)}/policy/exchange/allowed-clients`
    await okAdmin(service, 'POST', list, { client_id: other.client_id })
    await okAdmin(service, 'POST', `${clientPath(other)}/rotate-secret`, { overlap: '1h' })
    const [, earlier] = await okAdmin<{ id: string }[]>(service, 'GET', `${clientPath(other)}/secrets`)
    expect((await asOperator('DELETE', `${clientPath(other)}/secrets/${earlier?.id}`)).status).toBe(204)
    const change = { client_name: 'Renamed', redirect_uris: ['https://a.example.com/cb'] }
    expect((await asOperator('PATCH', clientPath(other), change)).status).toBe(200)
    for (const client of [other, gateway])
      expect((await asOperator('PATCH', `${clientPath(client)}/suspend`)).status).toBe(200)
    expect((await asOperator('DELETE', `${clientPath(other)}?force=true`)).status).toBe(204)
  })
})

describe('M17 the keys of two service accounts', () => {
  test('each assertion is signed with the key of its own provider, also when threads sign, and with the new key after a renewal', async () => {
    const pairs = [0, 1].map(() => generateKeyPairSync('rsa', { modulusLength: 2048 }))
    const names = ['CONNECTOR_ONE_KEY', 'CONNECTOR_TWO_KEY']
    const setKey = (i: number, pair: (typeof pairs)[number]) => {
      pairs[i] = pair
      Object.assign(service.app.env, { [names[i] ?? '']: pemOf(pair) })
    }
    for (const [i, pair] of pairs.entries()) setKey(i, pair)
    const scenes = await Promise.all(
      names.map((sa_key_ref) => serviceAccountScene(service, { impersonate: 'account', sa_key_ref })),
    )
    const members = scenes.map(({ member }) => member)
    const vendAll = async () => {
      // Tokens of this service, so that the signing threads work too.
      const tokens = Array.from({ length: 400 }, () => service.app.crypto.sign(service.app.keyring.current(), { a: 1 }))
      const vends = scenes.flatMap(({ vend, upstream }) =>
        members.map(async (member) => void vended(await vend(member), upstream)),
      )
      await Promise.all([...tokens, ...vends])
      for (const [i, { assertions }] of scenes.entries()) {
        const spki = String(pairs[i]?.publicKey.export({ type: 'spki', format: 'pem' }))
        const key = await importSPKI(spki, 'RS256')
        expect(assertions.length).toBe(members.length)
        for (const each of assertions.splice(0)) await jwtVerify(each, key, { clockTolerance: 100_000 })
      }
    }
    await vendAll()
    setKey(0, generateKeyPairSync('rsa', { modulusLength: 2048 }))
    service.advance(4000)
    await vendAll()
  })
})
