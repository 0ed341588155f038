// The audit event of each change through the admin API, and of each refused token request: its action, actor and target.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packageRoot } from '../../src/lib/paths.ts'
import { AUDIT_ACTIONS, type AuditAction } from '../../src/oauth/audit_events.ts'
import { eventsOf, okAdmin } from '../support/admin.ts'
import { Browser } from '../support/browser.ts'
import { authorizeUrl, post, walk } from '../support/flow.ts'
import { aSlug, oauthConfigData } from '../support/records.ts'
import { addClient, addResource, addUser, PASSWORD, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

/** What the event of an operation must name. */
interface Target {
  client_id?: string
  detail: Record<string, unknown>
}
type Operation = () => Promise<Target>
type Made = Record<'id' | 'client_id' | 'slug', string>

const send = (method: string, at: string, body?: object) => okAdmin<Made>(service, method, at, body)

const createClient = () =>
  send('POST', '/admin/clients', {
    client_name: 'Audited',
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'client_secret_post',
  })
const clientAt = ({ client_id }: Made) => `/admin/clients/${client_id}`

const createProvider = () =>
  send('POST', '/admin/broker-providers', {
    slug: aSlug(),
    display_name: 'Drive',
    protocol: 'oauth',
    config_data: oauthConfigData(),
  })
const ofProvider = ({ id, slug }: Made, detail: object = {}): Target => ({
  detail: { broker_provider_id: id, slug, protocol: 'oauth', ...detail },
})

const issuerOf = (slug: string) => `https://${slug}.example.com`
async function createIdp(): Promise<Made & { issuer: string }> {
  const issuer = issuerOf(aSlug())
  return { ...(await send('POST', '/admin/idps', { issuer, jwks_uri: `${issuer}/jwks.json` })), issuer }
}
const ofIdp = ({ id, issuer }: Made & { issuer: string }, detail: object = {}): Target => ({
  detail: { idp_id: id, issuer, ...detail },
})

function createResource(): Promise<Made> {
  const slug = aSlug()
  return send('POST', '/admin/resources', { slug, uri: `${issuerOf(slug)}/mcp`, backend_kind: 'mint' })
}
const ofResource = ({ id, slug }: Made, detail: object = {}): Target => ({
  detail: { resource_id: id, slug, ...detail },
})

const userAt = (id: string) => `/admin/users/${id}`
const ofUser = (user_id: string, detail: object = {}): Target => ({ detail: { user_id, ...detail } })

const createWebhook = () =>
  send('POST', '/admin/webhooks', { url: 'https://hooks.invalid/hush', events: ['*'], paused: true })
const ofWebhook = ({ id }: Made, detail: object = {}): Target => ({
  detail: { webhook_id: id, host: 'hooks.invalid', ...detail },
})

/** Performs each operation. Returns the target that its event must name. */
const OPERATIONS: Partial<Record<AuditAction, Operation>> = {
  client_created: async () => ({
    client_id: (await createClient()).client_id,
    detail: { client_name: 'Audited', grant_types: ['client_credentials'] },
  }),
  client_updated: async () => {
    const client = await createClient()
    await send('PATCH', clientAt(client), { client_name: 'Renamed' })
    return { client_id: client.client_id, detail: { fields: ['client_name'] } }
  },
  client_suspended: async () => {
    const client = await createClient()
    await send('PATCH', `${clientAt(client)}/suspend`)
    return { client_id: client.client_id, detail: {} }
  },
  client_reactivated: async () => {
    const client = await createClient()
    await send('PATCH', `${clientAt(client)}/suspend`)
    await send('PATCH', `${clientAt(client)}/reactivate`)
    return { client_id: client.client_id, detail: {} }
  },
  client_deleted: async () => {
    const client = await createClient()
    await send('DELETE', `${clientAt(client)}?force=true`)
    return { client_id: client.client_id, detail: { force: true } }
  },
  client_restored: async () => {
    const client = await createClient()
    await send('DELETE', `${clientAt(client)}?force=true`)
    await send('POST', `${clientAt(client)}/restore`)
    return { client_id: client.client_id, detail: { client_name: 'Audited' } }
  },
  broker_provider_created: async () => ofProvider(await createProvider()),
  broker_provider_updated: async () => {
    const provider = await createProvider()
    await send('PATCH', `/admin/broker-providers/${provider.id}`, { display_name: 'Files' })
    return ofProvider(provider, { fields: ['display_name'] })
  },
  broker_provider_deleted: async () => {
    const provider = await createProvider()
    await send('DELETE', `/admin/broker-providers/${provider.id}?cascade=true`)
    return ofProvider(provider, { cascade: true })
  },
  idp_created: async () => ofIdp(await createIdp()),
  idp_updated: async () => {
    const idp = await createIdp()
    await send('PUT', `/admin/idps/${idp.id}`, { enabled: false })
    return ofIdp(idp, { fields: ['enabled'] })
  },
  idp_deleted: async () => {
    const idp = await createIdp()
    await send('DELETE', `/admin/idps/${idp.id}`)
    return ofIdp(idp, { policies: 0, subject_mappings: 0 })
  },
  resource_created: async () => ofResource(await createResource()),
  resource_updated: async () => {
    const resource = await createResource()
    await send('PATCH', `/admin/resources/${resource.id}`, { display_name: 'Renamed' })
    return ofResource(resource, { fields: ['display_name'] })
  },
  resource_deleted: async () => {
    const resource = await createResource()
    await send('DELETE', `/admin/resources/${resource.id}?cascade=true`)
    return ofResource(resource, { cascade: true })
  },
  resource_restored: async () => {
    const resource = await createResource()
    await send('DELETE', `/admin/resources/${resource.id}`)
    await send('POST', `/admin/resources/${resource.id}/restore`)
    return ofResource(resource)
  },
  webhook_created: async () => ofWebhook(await createWebhook()),
  webhook_updated: async () => {
    const webhook = await createWebhook()
    await send('POST', `/admin/webhooks/${webhook.id}/rotate-secret`)
    return ofWebhook(webhook, { fields: ['secret'] })
  },
  webhook_tested: async () => {
    const webhook = await createWebhook()
    await send('POST', `/admin/webhooks/${webhook.id}/test`)
    return ofWebhook(webhook)
  },
  webhook_redelivered: async () => {
    const webhook = await createWebhook()
    await send('PATCH', `/admin/webhooks/${webhook.id}`, { paused: false })
    const [event] = await okAdmin<Made[]>(service, 'GET', '/admin/audit?action=webhook_updated&limit=1')
    await send('POST', `/admin/webhooks/${webhook.id}/redeliver/${event?.id}`)
    return ofWebhook(webhook, { event_id: event?.id })
  },
  webhook_deleted: async () => {
    const webhook = await createWebhook()
    await send('DELETE', `/admin/webhooks/${webhook.id}`)
    return ofWebhook(webhook)
  },
  user_created: async () => {
    const fields = { email: `${aSlug()}@example.com`, name: 'Ada', password: PASSWORD }
    return ofUser((await send('POST', '/admin/users', fields)).id, { role: 'user' })
  },
  user_updated: async () => {
    const { id } = await addUser(service)
    await send('PATCH', userAt(id), { name: 'Grace' })
    return ofUser(id, { fields: ['name'] })
  },
  user_disabled: async () => {
    const { id } = await addUser(service)
    await send('PATCH', `${userAt(id)}/disable`)
    return ofUser(id)
  },
  user_enabled: async () => {
    const { id } = await addUser(service, { status: 'disabled' })
    await send('PATCH', `${userAt(id)}/enable`)
    return ofUser(id)
  },
  user_signed_out: async () => {
    const { id } = await addUser(service)
    await send('DELETE', `${userAt(id)}/tokens`)
    return ofUser(id, { tokens_revoked: 0 })
  },
  user_deleted: async () => {
    const { id } = await addUser(service)
    await send('DELETE', `${userAt(id)}?force=true`)
    return ofUser(id, { force: true })
  },
}

test.each(Object.entries(OPERATIONS))(
  '%s is recorded with the operator and the changed record',
  async (action, run) => {
    const { client_id = '', detail } = await run()
    const [event] = await eventsOf(service, action)
    expect(event).toMatchObject({ kind: action, actor_id: 'admin', client_id, detail })
  },
)

test.each([
  ['client_credentials_denied', { grant_type: 'client_credentials', scope: 'unknown' }, 'invalid_scope'],
  [
    'token_issue_denied',
    { grant_type: 'authorization_code', code: 'wrong', code_verifier: 'v'.repeat(43) },
    'invalid_grant',
  ],
  ['token_refresh_denied', { grant_type: 'refresh_token', refresh_token: 'wrong' }, 'invalid_grant'],
  [
    'token_exchange_denied',
    {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: 'wrong',
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      resource: 'https://api.example.com/mcp',
    },
    'invalid_grant',
  ],
  [
    'jwt_bearer_denied',
    { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: 'wrong' },
    'invalid_grant',
  ],
])('%s is recorded with the client and the reason when a token request is refused', async (action, form, error) => {
  const { client_id, client_secret, ...client } = await addClient(service, {}, { grant_types: [form.grant_type] })
  expect(client.grant_types).toEqual([form.grant_type])
  const response = await post(`${service.issuer}/oauth/token`, { client_id, client_secret }, form)
  expect([response.status, response.body]).toEqual([400, expect.objectContaining({ error })])
  const [event] = await eventsOf(service, action)
  expect(event).toMatchObject({
    actor_id: client_id,
    client_id,
    detail: { reason: expect.stringMatching(/^[a-z_]+$/) },
  })
})

test.each([
  ['consent_granted', 'allow'],
  ['consent_denied', 'deny'],
] as const)(
  '%s is recorded with the user, the client and the scope when the user decides %s',
  async (kind, decision) => {
    const [client, user, resource] = [await addClient(service), await addUser(service), await addResource(service)]
    const url = authorizeUrl(service, { client_id: client.client_id, resource: resource.uri })
    await walk(service, url, user, new Browser(), decision)
    const [event] = await eventsOf(service, kind)
    const detail = { scope: 'mcp:read', resource: resource.uri }
    expect(event).toMatchObject({ kind, actor_id: user.id, client_id: client.client_id, detail })
  },
)

test('every action of the audit trail is named in a test', () => {
  const folder = path.join(packageRoot, 'test')
  const tests = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.test.ts'))
  const text = tests.map((name) => readFileSync(path.join(folder, name), 'utf8')).join('\n')
  expect(AUDIT_ACTIONS.filter((action) => !new RegExp(`\\b${action}\\b`).test(text))).toEqual([])
})
