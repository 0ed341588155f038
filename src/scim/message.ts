// What every body, answer and refusal of SCIM has in common (RFC 7644 §3.1, §3.12).
import { NO_STORE, type Reply, type Request } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { parseObject } from '../lib/json.ts'

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

/** The reasons, by why a request is refused (RFC 7644 §3.12, table 9). */
const REASONS = {
  invalidFilter: 'scim_invalid_filter',
  invalidPath: 'scim_invalid_path',
  invalidSyntax: 'scim_invalid_syntax',
  invalidValue: 'scim_invalid_value',
  mutability: 'scim_mutability',
  noTarget: 'scim_no_target',
  tooMany: 'scim_too_many',
  uniqueness: 'scim_uniqueness',
} as const

/** A refusal with its scimType. The description names attributes, and never repeats personal data. */
export const refusal = (scimType: keyof typeof REASONS, description: string): OAuthError =>
  new OAuthError(scimType === 'uniqueness' ? 'conflict' : 'invalid_request', description, {
    reason: REASONS[scimType],
    body: { scimType },
  })

/** There is no such person or group of the provider. */
export const notThere = (what: string): OAuthError =>
  new OAuthError('not_found', `there is no such ${what}`, { reason: 'scim_not_found' })

const BODY_TYPES = [SCIM_TYPE, 'application/json']

/** The members of the body, a JSON object under one of two media types (RFC 7644 §3.1). Throws invalidSyntax, or unsupported_media_type. */
export function scimBody(request: Request): Record<string, unknown> {
  const media = (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (!BODY_TYPES.includes(media))
    throw new OAuthError('unsupported_media_type', `the body must be ${BODY_TYPES.join(' or ')}`)
  const body = parseObject(request.body)
  if (!body) throw refusal('invalidSyntax', 'the body must be a JSON object')
  return body
}

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
