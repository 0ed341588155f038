// The members that few clients have. They are stored together.

/** The algorithms that ID tokens can have. RS256 is the one that every client supports (OpenID Connect Core §15.1). */
export const ID_TOKEN_ALGS = ['RS256', 'ES256'] as const
export type IdTokenAlg = (typeof ID_TOKEN_ALGS)[number]

/** How a client learns that its approval (CIBA) is decided. */
export const DELIVERY_MODES = ['poll', 'ping'] as const

/** Their names. */
export const RARE_MEMBERS = [
  'id_token_signed_response_alg',
  'backchannel_logout_uri',
  'backchannel_logout_session_required',
  'require_pushed_authorization_requests',
  'backchannel_token_delivery_mode',
  'backchannel_client_notification_endpoint',
] as const

/** Those that a client has. */
export const rareMembersOf = (client: RareMembers): RareMembers =>
  Object.fromEntries(RARE_MEMBERS.flatMap((name) => (client[name] === undefined ? [] : [[name, client[name]]])))

export interface RareMembers {
  /** The algorithm of its ID tokens. Absent: `oauth.id_token_alg`. */
  id_token_signed_response_alg?: IdTokenAlg
  /** Where it is notified when a session ends (OpenID Connect Back-Channel Logout 1.0). */
  backchannel_logout_uri?: string
  /** Whether it needs `sid` in logout tokens, which all of them have. */
  backchannel_logout_session_required?: boolean
  /** Whether it may send authorization requests only to the pushed authorization request endpoint (RFC 9126 §6). */
  require_pushed_authorization_requests?: boolean
  /** How it learns that its approval is decided (CIBA). Absent: it polls. Only operators set it. */
  backchannel_token_delivery_mode?: (typeof DELIVERY_MODES)[number]
  /** Where it is notified of a decision, with `ping`. Only operators set it. */
  backchannel_client_notification_endpoint?: string
}
