// Schemas of the answers of the admin API, as in the OpenAPI document. A test checks every real answer against them.
import { z } from 'zod'
import { OPERATOR_AUTH_METHODS } from '../../records/client.ts'
import { DELIVERY_MODES, ID_TOKEN_ALGS } from '../../records/rare_members.ts'
import { ACCESS_MODES, ACCESS_TOKEN_TYPS, TOKEN_CLAIMS } from '../../records/resource.ts'
import { shownLimits } from './limits.ts'
import { own } from './own_words.ts'
import {
  details,
  detailsTypes,
  documentFields,
  documentState,
  federatedCredential,
  hostWarning,
  keptDocument,
} from './parts.ts'

const at = z.iso.datetime()
const texts = z.array(z.string())
const count = z.int()
const toll = { tokens: count, families: count, requests: count, clients: count }

const status = (...words: readonly [string, ...string[]]) => z.strictObject({ status: z.enum(words) })
export const clientStatus = status('active', 'suspended')
export const userStatus = status('active', 'disabled')
export const refreshed = status('refreshed')

export const client = z.strictObject({
  client_id: z.string(),
  client_name: z.string(),
  redirect_uris: texts,
  post_logout_redirect_uris: texts.optional().describe('URIs to which the browser may return after a logout.'),
  id_token_signed_response_alg: z
    .enum(ID_TOKEN_ALGS)
    .optional()
    .describe('Algorithm of its ID tokens and logout tokens, if it is not `oauth.id_token_alg`.'),
  backchannel_logout_uri: z.string().optional().describe('URL that is notified when a sign-in ends.'),
  backchannel_logout_session_required: z.boolean().optional(),
  require_pushed_authorization_requests: z.boolean().optional(),
  backchannel_token_delivery_mode: z
    .enum(DELIVERY_MODES)
    .optional()
    .describe('How it learns that an approval (CIBA) is decided, if it set that.'),
  backchannel_client_notification_endpoint: z
    .string()
    .optional()
    .describe('URL that is notified when an approval is decided.'),
  grant_types: texts,
  response_types: texts,
  token_endpoint_auth_method: z.enum(OPERATOR_AUTH_METHODS),
  token_endpoint_auth_methods_supported: z
    .array(z.enum(OPERATOR_AUTH_METHODS))
    .optional()
    .describe('For a client with a metadata document that names several methods: every method that it may use.'),
  jwks: z
    .strictObject({ keys: z.array(z.record(z.string(), z.unknown())) })
    .optional()
    .describe('Public keys that verify its assertions.'),
  jwks_uri: z.string().optional().describe('URL where it publishes these keys.'),
  application_type: z.enum(['web', 'native']),
  scope: z.string(),
  dpop_bound_access_tokens: z.boolean(),
  agent: z.boolean(),
  is_agent: z.boolean(),
  agent_description: z.string(),
  status: z.enum(['active', 'suspended']),
  registration_source: z.enum(['admin', 'dcr', 'cimd']),
  default_resource: z
    .string()
    .optional()
    .describe('URI of the resource for client_credentials requests that name no resource.'),
  limits: shownLimits,
  federated_credentials: z
    .array(federatedCredential)
    .optional()
    .describe('Workload identities with which the client authenticates. Only for federated_jwt.'),
  operator_set: documentFields
    .partial()
    .optional()
    .describe(
      'Limits that an operator set. For a client with a metadata document: the members that limit the document. For a client that registered itself: the scope that limits it.',
    ),
  ...documentState,
  issued_at: at,
  updated_at: at,
  last_used_at: at.optional(),
  tokens_24h: count
    .optional()
    .describe(
      'Tokens of the last 24 hours. More than 1,000 are read from the stored sums of minutes. In a list only when the request asks for activity.',
    ),
  warning: hostWarning,
  id: z.string(),
  name: z.string(),
})
export const newClientAnswer = client.extend({
  document: keptDocument,
  client_secret: z.string().optional().describe('Returned only in this response. A public client has none.'),
})
export const newSecretAnswer = z.strictObject({
  client_id: z.string(),
  client_secret: z.string(),
  secret_id: z.string().describe('Id of the new secret.'),
})
export const clientSecret = z.strictObject({
  id: own(),
  created_at: at,
  expires_at: at.optional().describe('The secret is refused from this time on. The current secret has none.'),
  last_used_at: at.optional().describe('Time of the last use, at most an hour late.'),
})
export const clientWithSecrets = client.extend({
  document: keptDocument,
  secrets: z
    .array(clientSecret)
    .optional()
    .describe('The secrets that are accepted, the newest first. Absent when the client authenticates without one.'),
})

export const user = z.strictObject({
  id: own(),
  email: z.string(),
  email_verified: z
    .boolean()
    .describe('Whether an operator or the upstream provider has confirmed that the email belongs to the user.'),
  name: z.string(),
  given_name: z.string().optional(),
  family_name: z.string().optional(),
  preferred_username: z.string().optional(),
  locale: z.string().optional(),
  role: z.enum(['admin', 'user']),
  status: z.enum(['active', 'disabled']),
  disabled: z.boolean(),
  provider: z.enum(['local', 'oidc']),
  provider_issuer: z.string().optional().describe('Issuer of the upstream provider that the user signs in at.'),
  provider_sub: z.string().optional().describe('Subject of the user at that provider.'),
  groups: texts.describe('Groups of operators and of the upstream provider together.'),
  operator_groups: texts.optional().describe('Groups that operators set. Only of a user of the upstream provider.'),
  provider_groups: texts.optional().describe('Groups that the upstream provider named at the last sign-in.'),
  created_at: at,
  updated_at: at,
})
export const signedOut = z.strictObject({ user_id: own(), tokens_revoked: count })

const clientIds = z.strictObject({ client_ids: texts })
const allowedClients = z.strictObject({ allowed_client_ids: texts })
const allowedUrls = z.strictObject({ allowed_return_urls: texts })

export const resource = z.strictObject({
  id: own(),
  slug: z.string(),
  uri: z.string().describe('Empty when the resource has no URI.'),
  backend_kind: z.enum(['mint', 'broker']),
  broker_provider_id: own(),
  broker_provider_slug: z.string(),
  display_name: z.string(),
  scopes: z.array(
    z.strictObject({
      name: z.string(),
      description: z.string(),
      descriptions: z
        .record(z.string(), z.string())
        .optional()
        .describe('The description in further languages, by language tag. Absent: none.'),
      upstream: z.string(),
      groups: texts
        .optional()
        .describe('Groups whose members get the scope. Absent: everyone who may use the resource.'),
    }),
  ),
  access: z.strictObject({
    mode: z.enum(ACCESS_MODES),
    groups: texts,
    users: texts,
    email_domains: texts,
    second_factor: z.boolean().optional(),
  }),
  token_claims: z.array(z.enum(TOKEN_CLAIMS)),
  authorization_details_types: detailsTypes,
  access_token_typ: z.enum(ACCESS_TOKEN_TYPS),
  policy: z.strictObject({ exchange: allowedClients, runtime: clientIds, connect: allowedUrls.optional() }),
  warning: z.string().optional().describe('Why clients cannot send this URI, and the form that they send.'),
  created_at: at,
  updated_at: at,
})
export const resourceCheck = z.strictObject({
  url: z.string().describe('Where clients look for the metadata of the resource.'),
  problems: z
    .array(z.strictObject({ message: z.string(), fix: z.string() }))
    .describe('Differences from the registration. Empty when there are none.'),
})
export const providerCheck = z.strictObject({
  usable: z.boolean().describe('Whether the provider answers, and accepts the client id and secret of this service.'),
  reason: z.string().optional().describe('Why it is not usable.'),
  fix: z.string().optional().describe('What to do.'),
})
export const provider = z.strictObject({
  id: z.string(),
  slug: z.string(),
  display_name: z.string(),
  protocol: z.enum(['oauth', 'apikey', 'service_account']),
  config_data: z.record(z.string(), z.unknown()),
  warning: hostWarning,
  created_at: at,
  updated_at: at,
})
export const link = z.strictObject({
  source_slug: z.string(),
  target_slug: z.string(),
  scope_map: z.record(z.string(), texts),
  created_by: z.string(),
  created_at: at,
  updated_at: at,
})
export const linksOfResource = z.strictObject({ slug: z.string(), fronts: z.array(link), fronted_by: z.array(link) })

const grantTimes = { created_at: at, updated_at: at, revoked_at: at.optional() }
const brokerGrant = z.strictObject({
  id: z.string(),
  user_id: z.string(),
  broker_provider_id: z.string(),
  broker_provider_slug: z.string(),
  scopes_granted: texts,
  version: count,
  unsure_since: at.optional(),
  ended_reason: z.enum(['refused_by_provider', 'answer_lost']).optional(),
  ...grantTimes,
})
const consent = z.strictObject({
  id: z.string(),
  user_id: z.string(),
  client_id: z.string(),
  resource_id: z.string(),
  resource_slug: z.string().optional(),
  scopes: texts,
  ...grantTimes,
})
export const madeConnection = z.strictObject({
  id: z.string(),
  user_id: z.string(),
  broker_provider_id: z.string(),
  impersonate_sub: z.string(),
})
export const grantsOfUser = z.strictObject({ consent_grants: z.array(consent), broker_grants: z.array(brokerGrant) })

export const issuance = z.strictObject({
  id: own(),
  jti: own(),
  grant_type: own(),
  sub: z.string(),
  subject_user_id: z.string().optional(),
  client_id: z.string(),
  resource: z.string(),
  scope: z.string(),
  scopes: texts,
  authorization_details: details.optional(),
  token_type: z.enum(['Bearer', 'DPoP']),
  backend_kind: z.enum(['mint', 'broker']),
  broker_provider_slug: z.string().optional(),
  revocable: z.boolean(),
  issued_at: at,
  expires_at: at,
  revoked_at: at.optional(),
  jkt: own().optional(),
  parent_jti: own().optional(),
  retry: z.literal(true).optional().describe('It was issued for a retried refresh request.'),
  kid: own(),
  ip: z.string(),
})
export const issuancesAnswer = z.strictObject({ issuances: z.array(issuance), since: at, count })
export const issuanceDetail = issuance.extend({
  active: z.boolean().optional(),
  act: z.record(z.string(), z.unknown()).optional(),
  claims: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('Claims of the token. Absent for tokens of a provider.'),
})
export const revoked = z.strictObject({ dry_run: z.boolean(), ...toll })

export const auditEvent = z.strictObject({
  id: own(),
  action: own(),
  kind: own(),
  actor_id: z.string(),
  client_id: z.string(),
  ip: z.string(),
  request_id: own(),
  detail: z.record(z.string(), z.unknown()),
  created_at: at,
  timestamp: at,
})
