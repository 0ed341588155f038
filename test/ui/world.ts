// A service with something of everything in it, for the tests of the admin page.
import { newId } from '../../src/lib/id.ts'
import { okAdmin } from '../support/admin.ts'
import { LOCAL_DOCUMENTS } from '../support/documents.ts'
import { post } from '../support/flow.ts'
import { anIssuance } from '../support/records.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

type Client = Awaited<ReturnType<typeof addClient>>
export interface World {
  service: TestService
  machine: Client
  agent: Client
  user: Awaited<ReturnType<typeof addUser>>
  resource: Awaited<ReturnType<typeof addResource>>
  idp: { id: string; name: string }
  /** A token of the user that an agent exchanged for another agent. */
  delegated: string
}

/** Starts a service and fills it. */
export async function openWorld(): Promise<World> {
  const service = await startService(LOCAL_DOCUMENTS)
  const machine = await addClient(service, { client_name: 'Night robot', grant_types: ['client_credentials'] })
  const agent = await addClient(
    service,
    { client_name: 'Travel planner' },
    { is_agent: true, agent_description: 'Plans trips' },
  )
  const user = await addUser(service)
  const resource = await addResource(service)
  await addResource(service, { policy: { runtime: { client_ids: [machine.client_id] } } })
  await okAdmin(service, 'POST', '/admin/streams', {
    client_id: machine.client_id,
    events_requested: ['https://schemas.openid.net/secevent/oauth/event-type/token-revoked'],
  })
  const idp = await okAdmin<World['idp']>(service, 'POST', '/admin/idps', {
    issuer: 'https://idp.example.com',
    jwks_uri: 'https://idp.example.com/jwks.json',
    name: 'Company login',
  })
  await okAdmin(service, 'POST', '/admin/xaa/policies', {
    idp_id: idp.id,
    name: 'Notes only',
    resources: [resource.uri],
  })
  await okAdmin(service, 'POST', '/admin/xaa/subject-mappings', {
    idp_id: idp.id,
    federated_subject: '00u1abcd',
    local_subject: user.id,
  })
  await addUser(service, { ...user, id: newId(), email: 'member@example.com', operator_groups: ['editors', 'staff'] })
  await addResource(service, {
    slug: 'restricted',
    access: {
      mode: 'restricted',
      groups: ['staff', 'nobody-yet'],
      users: [user.id],
      email_domains: ['corp.example.com'],
    },
    token_claims: ['groups'],
  })
  const now = service.app.clock.now()
  const failed = { now, window: 600, max: 1, lockout: 900, expired_before: 0 }
  await service.app.store.addLoginFailure({ key: { address: '203.0.113.7' }, ...failed })
  await service.app.store.addLoginFailure({ key: { account: 'mac' }, user_id: user.id, ...failed })
  const delegated = anIssuance({
    id: newId(),
    grant_type: 'token_exchange',
    sub: user.id,
    client_id: agent.client_id,
    resource: resource.uri,
    scope: 'mcp:read',
    issued_at: now,
    expires_at: now + 3600,
    is_agent: true,
    act: { sub: agent.client_id, act: { sub: machine.client_id } },
    family_id: undefined,
    consent_id: undefined,
    parent_id: undefined,
    revoked_at: undefined,
  })
  await service.app.store.recordIssuance(delegated)
  for (const client_secret of [machine.client_secret, 'wrong'])
    await post(`${service.issuer}/oauth/token`, { ...machine, client_secret }, { grant_type: 'client_credentials' })
  await service.app.store.addClientFailures({
    failures: [
      {
        ...{ client_id: machine.client_id, step: 'authorize', status: 400, error: 'invalid_request' },
        ...{ reason: 'unregistered_redirect_uri', detail: 'the redirect_uri is not registered for this client' },
        ...{ parameter: 'redirect_uri', sent: `https://${'long.'.repeat(40)}example.com/callback`, allowed: [] },
        ...{ address: '192.0.2.1', request_id: newId(), count: 3, first_at: now, last_at: now },
      },
    ],
  })
  return { service, machine, agent, user, resource, idp, delegated: delegated.id }
}

/** Every page, by a name for it. */
export const placesOf = ({ machine, user, resource, delegated }: World): Readonly<Record<string, string>> => ({
  home: '',
  connections: 'connections',
  clients: 'clients',
  client: `clients/${machine.client_id}`,
  users: 'users',
  user: `users/${user.id}`,
  resources: 'resources',
  resource: `resources/${resource.slug}`,
  'restricted resource': 'resources/restricted',
  groups: 'groups',
  providers: 'providers',
  fronting: 'fronting',
  'identity providers': 'idps',
  policies: 'policies',
  mappings: 'mappings',
  issuances: 'issuances',
  issuance: `issuances/${delegated}`,
  audit: 'audit',
  webhooks: 'webhooks',
  streams: 'streams',
  approvals: 'approvals',
  lockouts: 'lockouts',
  keys: 'keys',
  settings: 'settings',
  search: `search?q=${encodeURIComponent(user.email)}`,
  incidents: 'incidents',
  'a token leaked': 'incidents/token',
  'what a token reaches': `incidents/token?subject=token&id=${delegated}`,
  'a person left': `incidents/person?subject=user&id=${user.id}`,
  'a client floods': 'incidents/client',
  'a key leaked': 'incidents/key',
  'try it': 'try',
  explain: 'try/explain',
})
