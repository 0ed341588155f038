// Why providers send people back without a code.

/** RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6. */
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

/** The reason for an `error` of a provider; words that no standard has are not repeated. */
export const upstreamReason = (error: string | undefined): string =>
  `upstream_${error !== undefined && UPSTREAM_ERRORS.includes(error) ? error : 'other'}`
