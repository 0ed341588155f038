// The parts of a broker test: a provider, a broker resource, and a user who connects.
import { expect } from 'vitest'
import { newProvider } from '../../src/broker/provider.ts'
import { newResource } from '../../src/oauth/tokens/resource_record.ts'
import type { BrokerProvider } from '../../src/records/broker_provider.ts'
import { EVERYONE, type ResourceAccess, type ResourcePolicy } from '../../src/records/resource.ts'
import type { User } from '../../src/records/user.ts'
import { addExchanger, aPerson, exchange, type Registered } from './exchange.ts'
import type { Answer } from './flow.ts'
import { aSlug } from './records.ts'
import { addResource, SEALED, startService, type TestService } from './service.ts'
import { UPSTREAM_ENV, Upstream } from './upstream.ts'
import { LOOPBACK } from './xaa.ts'

export const RETURN = 'https://app.example.com/connected'
const FILES = 'files:read files:write'
/** Variables of a service that brokers. */
export const BROKER = {
  ...LOOPBACK,
  ...SEALED,
  ...UPSTREAM_ENV,
  SERVICE_CONNECT_STATE_SECRET: 'connect-state-secret-0123456789abcdef',
  SERVICE_CONNECT_ALLOWED_RETURN_URLS: RETURN,
  // Subject tokens live longer than tokens of the provider, so that tests can observe the expiry of the latter.
  SERVICE_DCR_DEFAULT_TOKEN_EXPIRY: '200h',
}

/** Starts a service with brokering. Its callbacks lead to its own address. */
export const startBroker = (env: Record<string, string> = {}): Promise<TestService> =>
  startService({ ...BROKER, SERVICE_CONNECT_REDIRECT_BASE_URL: '<issuer>', ...env })

export async function addProvider({ app }: TestService, more: Partial<BrokerProvider> = {}): Promise<BrokerProvider> {
  const { slug = aSlug(), protocol = 'oauth', config_data = {} } = more
  const provider = newProvider({ slug, display_name: 'Drive', protocol, config_data }, app.clock.now())
  expect(await app.store.createProvider(provider)).toBe('created')
  return provider
}

interface Fields {
  policy?: Partial<ResourcePolicy>
  uri?: string
  scopes?: { name: string; description: string; upstream: string; groups?: string[] }[]
  access?: ResourceAccess
}
const FILE_SCOPES = [
  { name: 'files:read', description: 'Read', upstream: 'up.read' },
  { name: 'files:write', description: 'Write', upstream: 'up.write' },
]

export async function addBrokerResource({ app }: TestService, provider: BrokerProvider, fields: Fields = {}) {
  const slug = aSlug()
  const written = {
    slug,
    uri: `https://${slug}.example.com/api`,
    backend_kind: 'broker' as const,
    scopes: FILE_SCOPES,
    access: EVERYONE,
    token_claims: [],
    authorization_details_types: [],
  }
  const resource = newResource({ ...written, broker_provider_slug: provider.slug, ...fields }, app.clock.now())
  expect(await app.store.createResource(resource)).toBe('created')
  return { ...resource, uri: resource.uri ?? '' }
}

/** A user with a token without a resource, and a browser that connects. */
export async function aMember(service: TestService, app: Registered, scope = FILES, fields: Partial<User> = {}) {
  const person = await aPerson(service, fields)
  const subject = (await person.signIn(app, undefined, scope)).body['access_token']
  const startUrl = (provider: string, query: Record<string, string> = {}) =>
    `${service.app.config.server.issuer}/connect/${provider}?${new URLSearchParams({ return_url: RETURN, ...query })}`
  return { ...person, subject, startUrl }
}

/**
 * The usual case: `gateway` is on the list of the broker resource; `server` serves a mint resource, and the member has
 * consented to `app` there.
 */
export async function brokerScene(
  service: TestService,
  more: { config?: Record<string, unknown>; resource?: Fields } = {},
) {
  const upstream = await Upstream.start()
  const provider = await addProvider(service, { config_data: upstream.config(more.config) })
  const [app, gateway, server] = [
    await addExchanger(service, { scope: FILES }),
    await addExchanger(service, { scope: FILES }),
    await addExchanger(service, { scope: FILES }),
  ]
  const policy = { exchange: { allowed_client_ids: [gateway.client_id] } }
  const resource = await addBrokerResource(service, provider, { policy, ...more.resource })
  const runtime = { client_ids: [server.client_id] }
  const own = await addResource(service, { scopes: FILES.split(' '), policy: { runtime } })
  const member = await aMember(service, app)
  /** Goes to the provider, which redirects the browser back. Returns the final redirect. */
  const callback = async (who = member, query: Record<string, string> = {}) => {
    const page = await who.browser.open(who.startUrl(provider.slug, { resource: resource.slug, ...query }))
    expect(page.location, page.text).toContain(`${upstream.url}/authorize`)
    return upstream.approve(page.location ?? '')
  }
  const connect = async (who = member, query: Record<string, string> = {}) =>
    who.browser.open(await callback(who, query))
  return {
    ...{ upstream, provider, resource, own, app, gateway, server, member, callback, connect },
    /** Exchanges the token of a member into the broker resource. */
    vend: (fields: Record<string, unknown> = {}, who = member, client: Registered = gateway) =>
      exchange(service, client, { subject_token: who.subject, resource: resource.uri, scope: 'files:read', ...fields }),
    grant: (who = member) =>
      service.app.store.findBrokerGrant({ user_id: who.user.id, broker_provider_id: provider.id }),
  }
}

export type Scene = Awaited<ReturnType<typeof brokerScene>>

/** The upstream token of an answer, which must contain one. */
export function vended({ status, body }: Answer, { given }: Upstream): string {
  expect(status, JSON.stringify(body)).toBe(200)
  expect(given).toContain(body['access_token'])
  return String(body['access_token'])
}
