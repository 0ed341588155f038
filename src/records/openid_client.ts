// What a client says about the OpenID provider (OpenID Connect Dynamic Client Registration 1.0 §2).

/** The algorithms that ID tokens can have. RS256 is the one that every client supports (OpenID Connect Core §15.1). */
export const ID_TOKEN_ALGS = ['RS256', 'ES256'] as const
export type IdTokenAlg = (typeof ID_TOKEN_ALGS)[number]

/** The members of a client for the OpenID provider. */
export const OPENID_MEMBERS = [
  'id_token_signed_response_alg',
  'backchannel_logout_uri',
  'backchannel_logout_session_required',
] as const

/** The members for the OpenID provider that a client has. */
export const openIdOf = (client: OpenIdClient): OpenIdClient =>
  Object.fromEntries(OPENID_MEMBERS.flatMap((name) => (client[name] === undefined ? [] : [[name, client[name]]])))

export interface OpenIdClient {
  /** The algorithm of its ID tokens. Absent: `oauth.id_token_alg`. */
  id_token_signed_response_alg?: IdTokenAlg
  /** Where it is notified when a session ends (OpenID Connect Back-Channel Logout 1.0). */
  backchannel_logout_uri?: string
  /** Whether it needs `sid` in logout tokens, which all of them have. */
  backchannel_logout_session_required?: boolean
}
