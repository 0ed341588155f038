// Records of the store with a value in every field. A test names only the fields that it tests.
import { newBearer, newId } from '../../src/lib/id.ts'
import type { AuditEvent } from '../../src/records/audit_event.ts'
import type { AuthorizationRequest } from '../../src/records/authorization_request.ts'
import type { BrokerGrant } from '../../src/records/broker_grant.ts'
import type { BrokerProvider } from '../../src/records/broker_provider.ts'
import type { Client } from '../../src/records/client.ts'
import type { EventReceiver } from '../../src/records/event_receiver.ts'
import type { FrontingLink } from '../../src/records/fronting_link.ts'
import type { Idp, SubjectMapping, XaaPolicy } from '../../src/records/idp.ts'
import type { InstanceAbout } from '../../src/records/instance.ts'
import type { Issuance } from '../../src/records/issuance.ts'
import type { ApprovalRequest } from '../../src/records/polled_request.ts'
import { EVERYONE, type Resource } from '../../src/records/resource.ts'
import type { Session } from '../../src/records/session.ts'
import type { RefreshToken, TokenFamily } from '../../src/records/token_family.ts'
import type { User } from '../../src/records/user.ts'
import type { NewPolledRequest } from '../../src/store/tokens/polled_requests.ts'

/** The time of tests of the store. */
export const NOW = 1_800_000_000

export const aClient = (more: Partial<Client> = {}): Client => ({
  client_id: newId(),
  secrets: [{ id: newId(), hash: newBearer('cs').hash, created_at: NOW }],
  client_name: 'Editor',
  redirect_uris: ['https://client.example.com/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'client_secret_basic',
  application_type: 'web',
  scope: 'files:read files:write',
  status: 'active',
  registration_source: 'admin',
  is_agent: false,
  agent_description: '',
  dpop_bound_access_tokens: false,
  version: 1,
  issued_at: NOW,
  updated_at: NOW,
  ...more,
})

export function aUser(more: Partial<User> = {}): User {
  const id = newId()
  return {
    id,
    email: `${id}@example.com`,
    name: 'Alice',
    password_hash: '$argon2id$v=19$m=19456,t=2,p=1$a$b',
    role: 'user',
    status: 'active',
    provider: 'local',
    email_verified: true,
    operator_groups: [],
    provider_groups: [],
    version: 1,
    created_at: NOW,
    updated_at: NOW,
    ...more,
  }
}

export const aSession = (user: User, more: Partial<Session> = {}): Session => ({
  id: newId(),
  user_id: user.id,
  created_at: NOW,
  expires_at: NOW + 86_400,
  ...more,
})

export const aResource = (more: Partial<Resource> = {}): Resource => {
  const id = newId()
  return {
    id,
    slug: `slug-${id.toLowerCase().replaceAll('_', '-')}-${id.length}`,
    uri: `https://${id}.example.com/mcp`,
    backend_kind: 'mint',
    broker_provider_slug: undefined,
    display_name: 'Files',
    scopes: [{ name: 'files:read', description: 'Read files', upstream: '' }],
    access_token_typ: undefined,
    access: EVERYONE,
    token_claims: [],
    authorization_details_types: [],
    policy: {
      exchange: { allowed_client_ids: [] },
      runtime: { client_ids: ['c'] },
      connect: { allowed_return_urls: [] },
    },
    version: 1,
    created_at: NOW,
    updated_at: NOW,
    ...more,
  }
}

export const aLink = (source: Resource, target: Resource, more: Partial<FrontingLink> = {}): FrontingLink => ({
  source_slug: source.slug,
  target_slug: target.slug,
  scope_map: { 'files:read': ['files:read'] },
  created_by: 'admin',
  created_at: NOW,
  updated_at: NOW,
  ...more,
})

export const aRequest = (more: Partial<AuthorizationRequest> = {}): AuthorizationRequest => ({
  id: newId(),
  client_id: newId(),
  user_id: newId(),
  session_id: newId(),
  redirect_uri: 'https://client.example.com/callback',
  redirect_uri_sent: true,
  scope: 'files:read',
  resource: 'https://files.example.com/mcp',
  state: 'st',
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  dpop_jkt: undefined,
  consent_id: undefined,
  code_hash: undefined,
  code_expires_at: undefined,
  consumed_at: undefined,
  created_at: NOW,
  expires_at: NOW + 600,
  ...more,
})

export const aFamily = (more: Partial<TokenFamily> = {}): TokenFamily => ({
  id: newId(),
  client_id: newId(),
  user_id: newId(),
  scope: 'files:read',
  resource: 'https://files.example.com/mcp',
  consent_id: undefined,
  authorization_id: newId(),
  jkt: undefined,
  created_at: NOW,
  revoked_at: undefined,
  ...more,
})

export function aRefreshToken(family: TokenFamily, more: Partial<RefreshToken> = {}): RefreshToken {
  const { id, hash } = newBearer('rt')
  return { id, family_id: family.id, hash, expires_at: NOW + 604_800, consumed_at: undefined, ...more }
}

export const anIssuance = (more: Partial<Issuance> = {}): Issuance => ({
  id: newId(),
  grant_type: 'authorization_code',
  client_id: newId(),
  sub: newId(),
  resource: 'https://files.example.com/mcp',
  scope: 'files:read',
  issued_at: NOW,
  expires_at: NOW + 900,
  kid: 'k1',
  jkt: undefined,
  act: undefined,
  is_agent: false,
  family_id: undefined,
  consent_id: undefined,
  parent_id: undefined,
  broker_provider: undefined,
  ip: '192.0.2.1',
  revoked_at: undefined,
  ...more,
})

export const anEvent = (more: Partial<AuditEvent> = {}): AuditEvent => ({
  id: newId(),
  action: 'consent_granted',
  actor_id: 'admin',
  client_id: undefined,
  ip: '192.0.2.1',
  request_id: undefined,
  detail: {},
  created_at: NOW,
  ...more,
})

export const aReceiver = (more: Partial<EventReceiver> = {}): EventReceiver => ({
  id: `wh_${newId()}`,
  kind: 'webhook',
  url: 'https://hooks.example.com/service',
  events: ['client_*'],
  status: 'enabled',
  secret: 'sealed',
  secret_clear: undefined,
  client_id: undefined,
  settings: { description: 'Chat' },
  version: 1,
  created_at: NOW,
  updated_at: NOW,
  ...more,
})

/** The issuance of a family's access token. */
export const issuanceOf = (family: TokenFamily, more: Partial<Issuance> = {}): Issuance =>
  anIssuance({
    client_id: family.client_id,
    sub: family.user_id,
    family_id: family.id,
    consent_id: family.consent_id,
    ...more,
  })

export const anIdp = (more: Partial<Idp> = {}): Idp => {
  const id = newId()
  return {
    id,
    name: 'Acme',
    issuer: `https://${id}.example.com`,
    audience: 'https://as.example.com',
    jwks_uri: `https://${id}.example.com/jwks.json`,
    enabled: true,
    subject_tokens: false,
    audiences: [],
    version: 1,
    created_at: NOW,
    updated_at: NOW,
    ...more,
  }
}

export const anXaaPolicy = (idp: Idp, more: Partial<XaaPolicy> = {}): XaaPolicy => ({
  id: `p_${newId()}`,
  idp_id: idp.id,
  name: 'Files for all',
  client_ids: ['c'],
  scopes: ['files:read'],
  resources: ['https://files.example.com/mcp'],
  enabled: true,
  version: 1,
  created_at: NOW,
  updated_at: NOW,
  ...more,
})

export const aSubjectMapping = (idp: Idp, more: Partial<SubjectMapping> = {}): SubjectMapping => ({
  id: newId(),
  idp_id: idp.id,
  mode: 'explicit',
  federated_subject: 'employee-1',
  local_subject: 'u_1',
  created_at: NOW,
  ...more,
})

/** The members of an OAuth provider, with changes. */
export const oauthConfigData = (more: Record<string, unknown> = {}): Record<string, unknown> => ({
  client_id: 'upstream-client',
  client_secret_ref: 'CONNECTOR_UPSTREAM_SECRET',
  authorize_url: 'https://upstream.example.com/authorize',
  token_url: 'https://upstream.example.com/token',
  ...more,
})

/** A unique slug. */
export const aSlug = (): string => `s-${Buffer.from(newId(), 'base64url').toString('hex')}`

export const aProvider = (more: Partial<BrokerProvider> = {}): BrokerProvider => ({
  id: `bp_${newId()}`,
  slug: aSlug(),
  display_name: 'Drive',
  protocol: 'oauth',
  config_data: oauthConfigData(),
  version: 1,
  created_at: NOW,
  updated_at: NOW,
  ...more,
})

export const aBrokerGrant = (provider: BrokerProvider, more: Partial<BrokerGrant> = {}): BrokerGrant => ({
  id: newId(),
  user_id: newId(),
  broker_provider_id: provider.id,
  credential: 'sealed',
  scopes_granted: 'up.read up.write',
  leased_until: undefined,
  unsure_since: undefined,
  ended_reason: undefined,
  version: 1,
  created_at: NOW,
  updated_at: NOW,
  revoked_at: undefined,
  ...more,
})

/** A device that waits for its user, for ten minutes from NOW on. */
export const aDeviceRequest = (more: Partial<NewPolledRequest> = {}): NewPolledRequest => {
  const { id, hash } = newBearer('dc')
  return {
    id,
    hash,
    user_code_hash: newBearer('uc').hash,
    client_id: `c_${newId()}`,
    scope: 'files:read',
    asked_scope: 'files:read files:write',
    resource: 'https://files.example.com/mcp',
    ip: '192.0.2.1',
    user_agent: 'Terminal/1.0',
    wait: 5,
    created_at: NOW,
    expires_at: NOW + 600,
    ...more,
  }
}

/** An approval that waits for its person. */
export const anApproval = ({
  approval,
  ...more
}: Partial<NewPolledRequest> = {}): NewPolledRequest & { approval: ApprovalRequest } => ({
  ...aDeviceRequest(more),
  approval: { user_id: `u_${newId()}`, person: newBearer('ap').hash, binding_message: 'W4SCT', ...approval },
})

export const anInstance: InstanceAbout = {
  version: '0.2.1',
  host: 'host.example.com',
  address: ':9000',
  started_at: NOW,
  threads: 1,
}
