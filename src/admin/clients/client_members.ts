// A client in the admin API: the members that operators write, and the members of answers.
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { App } from '../../context.ts'
import { issuesOf, text, word } from '../../lib/field.ts'
import { dated } from '../../lib/time.ts'
import { isUrlShaped } from '../../oauth/clients/cimd.ts'
import {
  clientFields,
  clientRecord,
  isUserId,
  refuseMetadata,
  shownClient,
} from '../../oauth/clients/client_metadata.ts'
import { liveSecrets } from '../../oauth/clients/client_secret.ts'
import { federatedCredentials } from '../../oauth/clients/federated_credential.ts'
import { findNamedResource } from '../../oauth/tokens/resource.ts'
import { type Client, OPERATOR_AUTH_METHODS } from '../../records/client.ts'
import type { Jwk } from '../../records/jwk.ts'
import { RARE_MEMBERS } from '../../records/rare_members.ts'
import { changedFields, invalid } from '../outcome.ts'
import { limits } from './client_limits.ts'
import { deliveryFields } from './delivery.ts'

const chosenId = text(2048)
  .regex(/^(?!\.{1,2}$)[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
  .refine((id) => !isUserId(id), 'must not look like the id of a user')
  .refine((id) => !/^(admin|system)(:|$)/.test(id), 'must not look like an operator: both are actors of audit events')

const defaultResource = z
  .preprocess((value) => (value === null ? '' : value), text(2048))
  .describe(
    'URI of the registered resource for requests that name no resource, with every grant. It does not apply to requests whose only scopes are those of OpenID. Empty or null: none.',
  )

/** The schema is only an object, because readKeys() reports a faulty key as invalid_client_metadata. */
const jwks = z.record(z.string(), z.unknown(), 'must be a JWK set: an object with a list of keys')
const authMethod = word(OPERATOR_AUTH_METHODS).describe(
  'How the client authenticates. none: a public client. federated_jwt: a workload without a secret.',
)

const document = z
  .record(z.string(), z.unknown(), 'must be a JSON object')
  .describe(
    'Client metadata document, for a client_id that is a URL. It is checked as if it were fetched, and is never fetched afterwards.',
  )

/** The body that creates a client. */
export const creatable = clientRecord.in
  .extend({
    jwks: jwks.optional().describe(clientFields.jwks.description ?? ''),
    client_id: chosenId
      .optional()
      .describe(
        'Id of your choice. Without it the service generates one. A URL is that of a client metadata document, which decides the other members.',
      ),
    client_name: clientFields.client_name
      .optional()
      .describe('Name that users see. Required unless client_id is a URL.'),
    document: document.optional(),
    default_resource: defaultResource.optional(),
    limits: limits.optional(),
    backchannel_token_delivery_mode: deliveryFields.backchannel_token_delivery_mode.optional(),
    backchannel_client_notification_endpoint: deliveryFields.backchannel_client_notification_endpoint.optional(),
    token_endpoint_auth_method: authMethod.default('none'),
    federated_credentials: federatedCredentials.optional(),
  })
  .refine(({ client_id = '', client_name }) => client_name !== undefined || isUrlShaped(client_id), {
    path: ['client_name'],
    error: 'is required',
    // Beside what is wrong with the other members.
    when: ({ value }) => typeof value === 'object' && value !== null,
  })

/** A member that null removes. `nullable` loses the description. */
const removable = <T extends z.ZodType>(field: T) => field.nullable().describe(`${field.description} null: none.`)

const mutable = {
  client_name: clientFields.client_name,
  grant_types: clientFields.grant_types,
  redirect_uris: clientFields.redirect_uris,
  post_logout_redirect_uris: clientFields.post_logout_redirect_uris,
  id_token_signed_response_alg: clientFields.id_token_signed_response_alg
    .nullable()
    .describe('Algorithm of the ID tokens and logout tokens of the client. null: `oauth.id_token_alg`.'),
  backchannel_logout_uri: removable(clientFields.backchannel_logout_uri),
  backchannel_logout_session_required: removable(clientFields.backchannel_logout_session_required),
  require_pushed_authorization_requests: removable(clientFields.require_pushed_authorization_requests),
  backchannel_token_delivery_mode: removable(deliveryFields.backchannel_token_delivery_mode),
  backchannel_client_notification_endpoint: removable(deliveryFields.backchannel_client_notification_endpoint),
  scope: clientFields.scope,
  application_type: clientFields.application_type,
  agent_description: clientFields.agent_description,
  dpop_bound_access_tokens: clientFields.dpop_bound_access_tokens,
  default_resource: defaultResource,
  limits,
  jwks: jwks.describe('Public keys that verify its assertions. They replace jwks_uri.'),
  jwks_uri: clientFields.jwks_uri.describe('URL where the client publishes its public keys. It replaces jwks.'),
  federated_credentials: federatedCredentials,
  document,
}
const FIXED = 'Cannot be changed after the creation. The current value is accepted.'
/** Members that cannot be changed. */
export const fixed = {
  token_endpoint_auth_method: authMethod.describe(FIXED),
  agent: clientFields.agent.describe(FIXED),
}
/** The body that changes a client. */
export const patchable = z.object({ ...mutable, ...fixed }).partial()

/** A client in the form of the admin API. */
export const clientJson = (client: Client) =>
  dated({
    client_id: client.client_id,
    ...shownClient(client),
    dpop_bound_access_tokens: client.dpop_bound_access_tokens,
    agent: client.is_agent,
    is_agent: client.is_agent,
    agent_description: client.agent_description,
    status: client.status,
    registration_source: client.registration_source,
    default_resource: client.default_resource,
    limits: client.limits,
    federated_credentials: client.federated_credentials,
    operator_set: client.operator_set,
    ...documentJson(client),
    issued_at: client.issued_at,
    updated_at: client.updated_at,
    last_used_at: client.last_used_at,
    id: client.client_id,
    name: client.client_name,
  })

/** Where the document of a client comes from, and whether it can be fetched. Only for a client that has one. */
const documentJson = (client: Client) => {
  const { registration_source, document_source, kept_document, document_fetched_at, document_error } = client
  return registration_source === 'cimd'
    ? {
        document_source: document_source ?? 'fetched',
        document: kept_document,
        document_fetched_at,
        document_error: document_error ?? null,
      }
    : {}
}

/** The secrets of a client that are accepted. A client whose authentication method has no secret has no such member. */
export async function secretsJson({ store, clock }: App, client: Client) {
  const { client_id, secrets } = client
  if (secrets === undefined) return {}
  const uses = await store.readSecretUses({ client_id })
  return {
    secrets: liveSecrets(client, clock.now()).map(({ id, created_at, expires_at }) =>
      dated({ id, created_at, expires_at, last_used_at: uses[id] }),
    ),
  }
}

/** The registered URI of the default resource that an operator names; undefined for an empty one. Throws invalid_request. */
export async function defaultResourceOf(app: App, uri: string | undefined): Promise<string | undefined> {
  if (!uri) return undefined
  const resource = await findNamedResource(app, uri)
  if (resource?.backend_kind === 'mint') return resource.uri
  throw invalid('default_resource must be the URI of a registered mint resource', 'unknown_default_resource')
}

/** The key set that an operator sends. Throws invalid_client_metadata that names every problem. */
export function readKeys(value: z.output<typeof jwks> | undefined): { keys: Jwk[] } | undefined {
  if (value === undefined) return undefined
  const { data, error } = z.object({ jwks: clientFields.jwks }).safeParse({ jwks: value })
  if (error) throw refuseMetadata(issuesOf(error))
  return data.jwks
}

/** The members that come from the metadata document of a client, when it has one. Throws invalid_request that names them. */
export function checkDocumentMembers({ registration_source }: Client, patch: object): void {
  if (registration_source !== 'cimd') return
  const named = DOCUMENT_MEMBERS.filter((member) => Reflect.get(patch, member) !== undefined)
  if (named.length > 0) throw invalid(`${named.join(', ')}: the metadata document decides`, 'document_returns')
}
const DOCUMENT_MEMBERS = ['post_logout_redirect_uris', ...RARE_MEMBERS] as const

/** A patch with undefined in place of null: both remove a member from the record. */
export const withoutNulls = <T extends object>(patch: T): { [K in keyof T]: Exclude<T[K], null> } =>
  Object.fromEntries(Object.entries(patch).map(([name, value]) => [name, value ?? undefined])) as never

/** Members that an update can remove. */
const REMOVABLE = ['default_resource', 'limits', ...RARE_MEMBERS] as const

/** The members that an update changed: the named ones, and the ones that become permanent. */
export function changedByOperator(before: Client, next: Client, named: readonly string[]): string[] {
  const values = Object.fromEntries(named.map((name) => [name, Reflect.get(next, name)]))
  const permanent = changedFields(before.operator_set ?? {}, next.operator_set ?? {})
  const own = REMOVABLE.filter((name) => !isDeepStrictEqual(before[name], next[name]))
  return [...new Set([...changedFields(before, values), ...permanent, ...own])]
}
