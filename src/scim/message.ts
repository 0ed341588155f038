// What every answer and refusal of SCIM has in common (RFC 7644 §3.1, §3.12).
import { NO_STORE, type Reply } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'

export const SCIM_TYPE = 'application/scim+json'
const MESSAGE = 'urn:ietf:params:scim:api:messages:2.0:'
const CORE = 'urn:ietf:params:scim:schemas:core:2.0:'
export const URNS = {
  error: `${MESSAGE}Error`,
  list: `${MESSAGE}ListResponse`,
  patch: `${MESSAGE}PatchOp`,
  user: `${CORE}User`,
  group: `${CORE}Group`,
  config: `${CORE}ServiceProviderConfig`,
  resourceType: `${CORE}ResourceType`,
  schema: `${CORE}Schema`,
} as const

/** Why a request is refused (RFC 7644 §3.12, table 9). */
type ScimType =
  | 'invalidFilter'
  | 'invalidPath'
  | 'invalidSyntax'
  | 'invalidValue'
  | 'mutability'
  | 'noTarget'
  | 'tooMany'
  | 'uniqueness'

const REASONS = {
  invalidFilter: 'scim_invalid_filter',
  invalidPath: 'scim_invalid_path',
  invalidSyntax: 'scim_invalid_syntax',
  invalidValue: 'scim_invalid_value',
  mutability: 'scim_mutability',
  noTarget: 'scim_no_target',
  tooMany: 'scim_too_many',
  uniqueness: 'scim_uniqueness',
} as const satisfies Record<ScimType, string>

/** A refusal with its scimType. The description names attributes, and never repeats personal data. */
export const refusal = (scimType: ScimType, description: string): OAuthError =>
  new OAuthError(scimType === 'uniqueness' ? 'conflict' : 'invalid_request', description, {
    reason: REASONS[scimType],
    body: { scimType },
  })

/** There is no such person or group of the provider. */
export const notThere = (what: string): OAuthError =>
  new OAuthError('not_found', `there is no such ${what}`, { reason: 'scim_not_found' })

/** An answer with a body. */
export const scimReply = (status: number, value: unknown, headers: Record<string, string> = {}): Reply => ({
  status,
  headers: { 'content-type': SCIM_TYPE, ...NO_STORE, ...headers },
  body: JSON.stringify(value),
})

/** A refusal in the form of RFC 7644 §3.12. */
export function scimError(error: OAuthError): Reply {
  const { status, more, message } = error
  const scimType = more.body?.['scimType']
  return scimReply(
    status,
    { schemas: [URNS.error], status: String(status), ...(scimType ? { scimType } : {}), detail: message },
    { ...(status === 401 ? { 'www-authenticate': 'Bearer realm="scim"' } : {}), ...more.headers },
  )
}

/** A list with its envelope (RFC 7644 §3.4.2). */
export const listReply = (total: number, startIndex: number, resources: readonly unknown[]): Reply =>
  scimReply(200, {
    schemas: [URNS.list],
    totalResults: total,
    startIndex,
    itemsPerPage: resources.length,
    Resources: resources,
  })
