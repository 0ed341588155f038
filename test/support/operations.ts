// Valid input for each admin operation, on items that are created for it.
import { newId } from '../../src/lib/id.ts'
import type { BrokerProvider } from '../../src/records/broker_provider.ts'
import { approved, signedIn } from '../store/conformance/scenes.ts'
import { okAdmin } from './admin.ts'
import { addProvider as addProviderTo } from './broker.ts'
import { DocumentServer } from './documents.ts'
import { addFactor } from './factors.ts'
import { TestIdp } from './idp.ts'
import { aBrokerGrant, aLink, anApproval, anIssuance, aProvider, aResource } from './records.ts'
import { addClient, addResource, addUser, PASSWORD, type TestService } from './service.ts'
import { Upstream } from './upstream.ts'
import { addPolicy, mapSubject, trust } from './xaa.ts'

export interface Input {
  params?: Record<string, string>
  query?: Record<string, string>
  body?: Record<string, unknown>
}
type Make = (service: TestService) => Promise<Input>

const client: Make = async (service) => ({ params: { client_id: (await addClient(service)).client_id } })
const user: Make = async (service) => ({ params: { id: (await addUser(service)).id } })
const slug: Make = async (service) => ({ params: { slug: (await addResource(service)).slug } })
const named: Make = async (service) => ({
  ...(await slug(service)),
  body: { client_id: (await addClient(service)).client_id },
})
/** A client that is on the lists of a resource. */
const listed: Make = async (service) => {
  const { client_id } = await addClient(service)
  const policy = { exchange: { allowed_client_ids: [client_id] }, runtime: { client_ids: [client_id] } }
  return { params: { slug: (await addResource(service, { policy })).slug, client_id } }
}
/** A return URL for the list of a new broker resource, which has these URLs. */
const connectList =
  (...allowed_return_urls: string[]): Make =>
  async ({ app }) => {
    const { slug: provider } = await addProvider(app)
    const { policy, ...resource } = aResource({ backend_kind: 'broker', broker_provider_slug: provider })
    await app.store.createResource({ ...resource, policy: { ...policy, connect: { allowed_return_urls } } })
    const named = { url: BACK }
    return { params: { slug: resource.slug }, query: named, body: named }
  }
const BACK = 'https://app.example.com/back'
const issuance: Make = async ({ app }) => {
  const issued = anIssuance()
  await app.store.recordIssuance(issued)
  return { params: { id: issued.id } }
}
const job: Make = async ({ app }) => {
  const [id, now] = [newId(), app.clock.now()]
  const about = {
    operation: 'POST /admin/revocations',
    actor_id: 'admin',
    status: 'running',
    rows: 1,
    percent: 2,
  } as const
  await app.store.saveJob({ job: { id, ...about, created_at: now, seen_at: now }, keeps: 0 })
  return { params: { id } }
}
/** A link between two new resources. */
const link: Make = async (service) => {
  const [source, target] = [await addResource(service), await addResource(service)]
  await service.app.store.createFrontingLink({
    link: aLink(source, target, { scope_map: { 'mcp:read': ['mcp:read'] } }),
    ends: [source, target],
    dry_run: false,
  })
  return { params: { source: source.slug, target: target.slug } }
}
const idp_id = async (service: TestService) => trust(service, await TestIdp.start(), [])
const idp: Make = async (service) => ({ params: { id: await idp_id(service) } })
const policy: Make = async (service) => ({
  params: { id: (await addPolicy(service, await idp_id(service), {})).id },
})

const addProvider = async ({ store }: TestService['app'], more: Partial<BrokerProvider> = {}) => {
  const provided = aProvider(more)
  await store.createProvider(provided)
  return provided
}
const provider: Make = async ({ app }) => ({ params: { id: (await addProvider(app)).id } })

/** It is paused, so that nothing is sent to a host that does not exist. */
const WEBHOOK = { url: 'https://hooks.invalid/service', events: ['client_*'], paused: true }
const webhook: Make = async (service) => {
  const { id } = await okAdmin<{ id: string }>(service, 'POST', '/admin/webhooks', WEBHOOK)
  return { params: { id } }
}

/** The id of an event that webhooks receive. */
async function suspension(service: TestService): Promise<string> {
  const { client_id } = await addClient(service)
  await okAdmin(service, 'PATCH', `/admin/clients/${client_id}/suspend`)
  const [event] = await okAdmin<{ id: string }[]>(
    service,
    'GET',
    `/admin/audit?action=client_suspended&client_id=${client_id}`,
  )
  return event?.id ?? ''
}

/** A client that waits for approval. */
const clientRequest: Make = async ({ app }) => {
  const [id, now] = [newId(), app.clock.now()]
  const request = { id, client_id: newId(), client_name: 'Desk', redirect_hosts: [], requested_by: `u_${newId()}` }
  const more = { count: 1, status: 'waiting' as const, first_at: now, last_at: now }
  await app.store.requestClient({ request: { ...request, ...more }, max: 1000, most_of_person: 1000 })
  return { params: { id } }
}

/** The client of a new resource server. */
async function resourceServer(service: TestService): Promise<string> {
  const { client_id } = await addClient(service)
  await addResource(service, { policy: { runtime: { client_ids: [client_id] } } })
  return client_id
}
const stream: Make = async (service) => {
  const client_id = await resourceServer(service)
  const { stream_id } = await okAdmin<{ stream_id: string }>(service, 'POST', '/admin/streams', { client_id })
  return { params: { id: stream_id } }
}

/** By operationId or its beginning. Other operations need no preparation. */
const MAKERS: Readonly<Record<string, Make>> = {
  'user.import': async () => ({ body: { users: [{ email: `${newId()}@example.com` }] } }),
  'api-key.create': async () => ({ body: { name: newId().replace(/^[_-]/, 'k'), capability: 'viewer' } }),
  'api-key.revoke': async (service) => {
    const made = { name: newId().replace(/^[_-]/, 'k'), capability: 'viewer' }
    return { params: { id: (await okAdmin<{ id: string }>(service, 'POST', '/admin/api-keys', made)).id } }
  },
  'client.list': async () => ({ query: { status: 'active', limit: '5' } }),
  'client.create': async () => ({ body: { client_name: 'Job', redirect_uris: ['https://client.example.com/cb'] } }),
  'client.reactivate': async (service) => ({
    params: { client_id: (await addClient(service, {}, { status: 'suspended' })).client_id },
  }),
  'client.update': async (service) => ({ ...(await client(service)), body: { client_name: 'Other' } }),
  'client.fetchDocument': async (service) => {
    const client_id = `https://client.invalid/${newId()}.json`
    await addClient(service, {}, { client_id, registration_source: 'cimd' })
    return { params: { client_id } }
  },
  'client.refreshDocument': async (service) => {
    const documents = await DocumentServer.start()
    const client_id = documents.publish(`/${newId()}.json`, {}, {}, 'https://client.invalid')
    documents.serveAs(service, 'https://client.invalid')
    await addClient(service, {}, { client_id, registration_source: 'cimd' })
    return { params: { client_id } }
  },
  'client.secret.end': async (service) => {
    const { client_id, secrets } = await addClient(service)
    await okAdmin(service, 'POST', `/admin/clients/${client_id}/rotate-secret`, { overlap: '1h' })
    return { params: { client_id, secret_id: secrets?.[0]?.id ?? '' } }
  },
  'client.restore': async (service) => {
    const { params } = await client(service)
    await okAdmin(service, 'DELETE', `/admin/clients/${params?.['client_id']}`)
    return { params }
  },
  client,
  'connection.failures': async (service) => ({ query: { client_id: (await addClient(service)).client_id } }),
  'try.token': async () => ({ body: { client_id: 'nobody', client_secret: 'nothing' } }),
  'find.names': async (service) => ({ query: { ids: (await addClient(service)).client_id } }),
  'find.find': async (service) => ({ query: { query: (await addClient(service)).client_id } }),
  'try.decode': async () => ({ body: { token: 'opaque' } }),
  'try.explain': async () => ({
    body: { grant: 'client_credentials', client_id: 'nobody', resource: 'https://nowhere.example.com' },
  }),
  'try.idJag': async (service) => ({ body: { assertion: 'a.b.c', client_id: (await addClient(service)).client_id } }),
  'resource.discover': async () => ({ query: { url: 'http://127.0.0.1:9/mcp' } }),
  'try.signIn': async (service) => ({
    body: {
      client_id: (await addClient(service)).client_id,
      code: 'unknown',
      code_verifier: 'unknown',
      redirect_uri: 'https://client.example.com/cb',
      resource: (await addResource(service)).slug,
    },
  }),
  'user.list': async () => ({}),
  'user.create': async () => ({ body: { email: `${newId()}@example.com`, password: PASSWORD } }),
  'user.enable': async (service) => ({ params: { id: (await addUser(service, { status: 'disabled' })).id } }),
  'user.update': async (service) => ({ ...(await user(service)), body: { name: 'Other' } }),
  user,
  'user.passwordLink': user,
  'user.resetFactors': async (service) => {
    const { id } = await addUser(service)
    await addFactor(service, id)
    return { params: { id } }
  },
  'user.session.list': user,
  'user.session.end': async (service) => {
    const { id } = await addUser(service)
    const now = service.app.clock.now()
    const session = { id: newId(), user_id: id, created_at: now, expires_at: now + 60 }
    await service.app.store.createSession(session)
    return { params: { id, session_id: session.id } }
  },
  'client-request.list': async () => ({}),
  'client-request.approve': clientRequest,
  'client-request.deny': clientRequest,
  'approval.list': async () => ({}),
  'approval.deny': async ({ app }) => {
    const request = anApproval({ created_at: app.clock.now(), expires_at: app.clock.now() + 60 })
    await app.store.createApproval({ ...request, bounds: { open: 10, denied: 5, within: 60 } })
    return { params: { id: request.id } }
  },
  'lockout.list': async () => ({}),
  'lockout.delete': async ({ app }) => {
    const now = app.clock.now()
    const key = { address: newId() }
    await app.store.addLoginFailure({ key, now, window: 60, max: 1, lockout: 60, expired_before: 0 })
    const found = await app.store.listLockouts({ now, limit: 1000, offset: 0 })
    return { params: { id: found.find(({ address }) => address === key.address)?.id ?? '' } }
  },
  'stream.list': async () => ({}),
  'stream.create': async (service) => ({ body: { client_id: await resourceServer(service) } }),
  'stream.update': async (service) => ({
    ...(await stream(service)),
    body: { status: 'paused', reason: 'Maintenance' },
  }),
  'stream.redeliver': async (service) => {
    const delivery = { method: 'urn:ietf:rfc:8935', endpoint_url: 'https://hooks.invalid/events' }
    const body = { client_id: await resourceServer(service), delivery }
    const { stream_id: id } = await okAdmin<{ stream_id: string }>(service, 'POST', '/admin/streams', body)
    for (const status of ['paused', 'enabled']) await okAdmin(service, 'PATCH', `/admin/streams/${id}`, { status })
    const [event] = await okAdmin<{ id: string }[]>(service, 'GET', '/admin/audit?action=stream_updated&limit=1')
    return { params: { id, event_id: event?.id ?? '' } }
  },
  stream,
  'webhook.list': async () => ({}),
  'webhook.create': async () => ({ body: WEBHOOK }),
  'webhook.update': async (service) => ({ ...(await webhook(service)), body: { description: 'Chat' } }),
  'webhook.redeliver': async (service) => {
    const { params } = await webhook(service)
    await okAdmin(service, 'PATCH', `/admin/webhooks/${params?.['id']}`, { paused: false })
    return { params: { ...params, event_id: await suspension(service) } }
  },
  'webhook.payload': async (service) => {
    const { params } = await webhook(service)
    return { params: { ...params, event_id: await suspension(service) } }
  },
  webhook,
  'resource.list': async () => ({}),
  'resource.create': async () => {
    const slug = `r-${newId().toLowerCase().replaceAll('_', '-')}`
    return { body: { slug, uri: `https://${slug}.example.com`, backend_kind: 'mint' } }
  },
  'resource.policy.connect': connectList(),
  'resource.policy.connect.remove': connectList(BACK),
  'resource.policy.exchange.remove': listed,
  'resource.policy.runtime.remove': listed,
  'resource.policy': named,
  'resource.update': async (service) => ({
    params: { id: (await addResource(service)).id },
    body: { display_name: 'Other' },
  }),
  'resource.restore': async (service) => {
    const { id } = await addResource(service)
    await okAdmin(service, 'DELETE', `/admin/resources/${id}`)
    return { params: { id } }
  },
  resource: async (service) => ({ params: { id: (await addResource(service)).id } }),
  'fronting.list': async () => ({ query: { source: 'nothing-here', limit: '5' } }),
  'fronting.create': async (service) => {
    const [source, target] = [await addResource(service), await addResource(service)]
    return { body: { source: source.slug, target: target.slug, scope_map: { 'mcp:read': ['mcp:write'] } } }
  },
  'fronting.ofResource': slug,
  'fronting.update': async (service) => ({
    ...(await link(service)),
    body: { scope_map: { 'mcp:read': ['mcp:write'] } },
  }),
  fronting: link,
  'grant.listUserGrants': user,
  'grant.revokeConsent': async ({ app }) => ({ params: { id: (await approved(app.store)).consent.id } }),
  'grant.revokeSignIn': async ({ app }) => ({ params: { id: (await signedIn(app.store)).family.id } }),
  'grant.createBroker': async (service) => {
    const { id } = await addProvider(service.app, {
      protocol: 'service_account',
      config_data: {
        token_url: 'https://up.example.com/token',
        sa_email: 'sa@example.com',
        sa_key_ref: 'CONNECTOR_KEY',
      },
    })
    return { body: { user_id: (await addUser(service)).id, broker_provider: id, impersonate_sub: 'ada@example.com' } }
  },
  'grant.revokeBroker': async ({ app }) => {
    const grant = aBrokerGrant(await addProvider(app))
    await app.store.connectBrokerGrant(grant)
    return { params: { id: grant.id } }
  },
  'issuance.get': issuance,
  'job.show': job,
  'issuance.revoke': issuance,
  'provider.list': async () => ({}),
  'provider.create': async () => {
    const { slug, display_name, protocol, config_data } = aProvider()
    return { body: { slug, display_name, protocol, config_data } }
  },
  'provider.check': async (service) => {
    const upstream = await Upstream.start()
    const { slug } = await addProviderTo(service, { config_data: upstream.config() })
    return { params: { id: slug } }
  },
  'provider.update': async (service) => ({ ...(await provider(service)), body: { display_name: 'Other' } }),
  provider,
  'idp.list': async () => ({}),
  'idp.create': async () => {
    const issuer = `https://${newId()}.example.com`
    return { body: { issuer, jwks_uri: `${issuer}/jwks.json` } }
  },
  'idp.update': async (service) => ({ ...(await idp(service)), body: { name: 'Other' } }),
  idp,
  'policy.list': async () => ({}),
  'policy.create': async (service) => ({ body: { idp_id: await idp_id(service) } }),
  'policy.update': async (service) => ({ ...(await policy(service)), body: { name: 'Other' } }),
  policy,
  'mapping.list': async () => ({}),
  'mapping.create': async (service) => ({
    body: { idp_id: await idp_id(service), federated_subject: 'ada', local_subject: 'u_1' },
  }),
  mapping: async (service) => ({
    params: { id: (await mapSubject(service, await idp_id(service), 'ada', 'u_1')).id },
  }),
  'key.revoke': async (service) => {
    const { current_kid } = await okAdmin<{ current_kid: string }>(service, 'POST', '/admin/keys/rotate')
    return { params: { kid: current_kid }, body: {} }
  },
  'dcr.set': async () => ({ body: { mode: 'admin_only' } }),
  'dcr.replace': async () => ({ body: { mode: 'open' } }),
  'incident.end': async (service) => ({
    body: { subject: 'client', id: (await addClient(service)).client_id, end: ['suspend'] },
  }),
  'revocation.create': async (service) => {
    const { client_id } = await addClient(service)
    await service.app.store.recordIssuance(anIssuance({ client_id }))
    return { body: { client_id } }
  },
}

/** Creates the items that an operation needs, and returns its input. */
export const inputFor = (operationId: string, service: TestService): Promise<Input> => {
  const words = operationId.split('.')
  const names = words.map((_, i) => words.slice(0, words.length - i).join('.'))
  const make = names.map((name) => MAKERS[name]).find((found) => found !== undefined)
  return make ? make(service) : Promise.resolve({})
}
