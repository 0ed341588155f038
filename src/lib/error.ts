// The one error type. Thrown anywhere, rendered in http/problem.ts only (or as a redirect by oauth/sign_in/authorization.ts).
import { clip } from './bounded.ts'
import type { Reason } from './reasons/index.ts'

interface Code {
  status: number
  doc: string
}
const code = (status: number, doc: string): Code => ({ status, doc })

/** Every error code that a caller can receive, with its HTTP status and meaning. Also the source of docs/reference/errors.md. */
export const CODES = {
  invalid_request: code(400, 'A parameter is missing, repeated or malformed.'),
  invalid_client: code(401, 'The client is unknown, suspended, or failed to authenticate. At /oauth/authorize: 400.'),
  invalid_grant: code(400, 'The code, refresh token, subject token or assertion is unknown, expired, used or revoked.'),
  invalid_scope: code(400, 'A scope is missing, not declared by the resource, or beyond what was granted.'),
  invalid_authorization_details: code(
    400,
    'The authorization_details are malformed, of a type that the resource does not declare, or beyond what was granted (RFC 9396).',
  ),
  invalid_binding_message: code(400, 'The binding_message has a character that cannot be seen, or too many (CIBA).'),
  invalid_target: code(400, 'The resource is unknown or not covered by the grant (RFC 8707).'),
  unauthorized_client: code(400, 'The client is not registered for this grant type.'),
  unsupported_grant_type: code(400, 'The grant type is unknown, or disabled in the configuration.'),
  unsupported_response_type: code(400, 'Only response_type=code is offered.'),
  unsupported_token_type: code(400, 'Tokens of this type cannot be revoked here (RFC 7009).'),
  invalid_dpop_proof: code(400, 'The DPoP proof is malformed, replayed or does not fit the request (RFC 9449).'),
  use_dpop_nonce: code(400, 'The DPoP proof needs the nonce of the DPoP-Nonce response header (RFC 9449).'),
  access_denied: code(403, 'The user denied the request, or a policy does not allow it.'),
  authorization_pending: code(400, 'The user has not decided about the request yet (RFC 8628, CIBA).'),
  expired_token: code(400, 'The device code or auth_req_id has expired. The client must begin again (RFC 8628, CIBA).'),
  consent_required: code(400, 'The user has not consented; consent_url and cause say what is missing.'),
  login_required: code(
    400,
    'No user is signed in as the request requires, and prompt=none forbids a login page or the user has just signed in.',
  ),
  unmet_authentication_requirements: code(
    400,
    'No available sign-in satisfies the acr_values of the request (RFC 9470).',
  ),
  invalid_token: code(401, 'The access token is missing, expired, revoked, or not for this endpoint (RFC 6750).'),
  insufficient_scope: code(403, 'The access token does not have the scope that this endpoint requires (RFC 6750).'),
  request_not_supported: code(400, 'The request parameter is not supported (OpenID Connect Core 6.1).'),
  request_uri_not_supported: code(400, 'A request_uri of another server is not supported (OpenID Connect Core 6.2).'),
  invalid_request_uri: code(
    400,
    'The request_uri of a pushed request is unknown, expired, used, or of another client (RFC 9126).',
  ),
  invalid_redirect_uri: code(400, 'A redirect URI of a registration is not acceptable (RFC 7591).'),
  invalid_client_metadata: code(400, 'A field of a registration is not acceptable (RFC 7591).'),
  unauthorized: code(401, 'The admin API key is missing or wrong.'),
  not_found: code(404, 'The path or the record does not exist.'),
  method_not_allowed: code(405, 'The path exists, but not with this method.'),
  conflict: code(409, 'The record exists already, is referenced, or is not in the right state.'),
  length_required: code(411, 'This endpoint needs a body, and the request states no length.'),
  content_too_large: code(413, 'The request body is larger than this endpoint accepts.'),
  unsupported_media_type: code(415, 'The request body has another content type than this endpoint accepts.'),
  slow_down: code(
    429,
    'There were too many requests. Retry-After has the number of seconds to wait before the next one. At the token endpoint: 400, if a client polls too often (RFC 8628, CIBA).',
  ),
  server_error: code(500, 'An internal error. The log has the cause under the request_id.'),
  temporarily_unavailable: code(
    503,
    'The service is overloaded, or its storage is unavailable. Retry-After has the number of seconds to wait before the next request.',
  ),
} as const satisfies Record<string, Code>

export type ErrorCode = keyof typeof CODES

/** The maximum length of a description, which may repeat a long input. */
const MAX_DESCRIPTION = 2048

/** The reason of a refusal. One that has none of its own has its code. */
export type RefusalReason = Reason | ErrorCode

/** A value of a request that was refused, and the values that would have been accepted. */
export interface SentValue {
  parameter: 'redirect_uri' | 'scope' | 'resource' | 'audience'
  value: string
  allowed: readonly string[]
}

interface More {
  /** A status that differs from the table. */
  status?: number
  headers?: Record<string, string>
  /** Further members of the body: consent_url, cause, dependents. */
  body?: Record<string, unknown>
  /** The exact reason, for logs, metric labels and tests; never sent. */
  reason?: RefusalReason
  /** The client, user and other facts as far as known, for the log and the audit trail; never sent. */
  about?: Readonly<Record<string, string>>
  cause?: unknown
  /** The value that was refused, for operators; never sent. */
  sent?: SentValue
  /** The local path that a person was on the way to, for the page; never sent. */
  target?: string
  /** The person was to sign in again at the provider, for the page; never sent. */
  reauthenticate?: boolean
  /** The refusal is in the audit trail: its event was recorded with the change that it caused. */
  recorded?: boolean
  /** The client may send nothing now: it is suspended, or has reached its own limit. The limit of all requests does not count the request, because the client could otherwise use it up. */
  uncounted?: boolean
}

/** A refusal. `description` is for the caller and reveals nothing to an attacker; `reason` is for operators and tests. */
export class OAuthError extends Error {
  readonly code: ErrorCode
  readonly more: More

  constructor(code: ErrorCode, description: string, more: More = {}) {
    // Refusals are normal traffic, so only server errors have a stack trace. The cause of an unavailable part is in `cause`.
    const limit = Error.stackTraceLimit
    if (code !== 'server_error' || (more.status ?? 500) < 500) Error.stackTraceLimit = 0
    super(clip(description, MAX_DESCRIPTION), more.cause === undefined ? undefined : { cause: more.cause })
    Error.stackTraceLimit = limit
    this.code = code
    this.more = more
  }

  /** The same refusal with more headers. */
  withHeaders(headers: Record<string, string>): OAuthError {
    return this.with({ headers: { ...this.more.headers, ...headers } })
  }

  /** The same refusal with further facts. */
  with(more: More): OAuthError {
    return new OAuthError(this.code, this.message, { ...this.more, ...more })
  }

  get status(): number {
    return this.more.status ?? CODES[this.code].status
  }

  get reason(): RefusalReason {
    return this.more.reason ?? this.code
  }
}

/** The code of an error of Node, of a package or of this service. */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

/** 429 with the seconds after which the caller may try again. */
export const slowDown = (wait: number, description: string, reason: RefusalReason, more: More = {}): OAuthError =>
  new OAuthError('slow_down', description, { ...more, reason, headers: { 'retry-after': String(wait) } })

/** Throws slow_down if a limit says that the caller must wait. */
export function checkWait(...refusal: Parameters<typeof slowDown>): void {
  if (refusal[0] > 0) throw slowDown(...refusal)
}

/** 503 with Retry-After, for an unavailable dependency or a full queue. */
export const unavailable = (description: string, more: More = {}): OAuthError =>
  new OAuthError('temporarily_unavailable', description, { ...more, headers: { 'retry-after': '1', ...more.headers } })

const FULL = '_full'
/** 503 for a bounded resource that is full; the reason is `what`_full. */
export const overloaded = (what: string, description = 'the service is overloaded'): OAuthError =>
  unavailable(description, { reason: `${what}${FULL}` })
/** Whether a bounded resource was full, and nothing failed. */
export const isOverloaded = (error: unknown): boolean =>
  error instanceof OAuthError && error.code === 'temporarily_unavailable' && error.reason.endsWith(FULL)
