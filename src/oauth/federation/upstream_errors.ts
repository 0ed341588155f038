// The error codes with which providers redirect users back without a code.

/** The codes of RFC 6749 §4.1.2.1 and OpenID Connect Core §3.1.2.6. */
const UPSTREAM_ERRORS = [
  'access_denied',
  'account_selection_required',
  'consent_required',
  'interaction_required',
  'invalid_request',
  'invalid_scope',
  'login_required',
  'server_error',
  'temporarily_unavailable',
  'unauthorized_client',
  'unsupported_response_type',
]

/** The refusal reason for an `error` of a provider. Codes that are not standard become `other`. */
export const upstreamReason = (error: string | undefined): `upstream_${string}` =>
  `upstream_${error !== undefined && UPSTREAM_ERRORS.includes(error) ? error : 'other'}`
