// The options of a verifier, and the types of its results.
import type { JWTPayload } from 'jose'

/** The client credentials of this resource server at the authorization server. The client must be on the `runtime` list of the resource. */
export interface ClientCredentials {
  clientId: string
  clientSecret: string
}

/** How the resource server receives revocations. */
export interface RevocationOptions extends ClientCredentials {
  /** `poll` requests events from the authorization server (RFC 8936). `push` receives requests at this URL (RFC 8935): pass them to `verifier.receive`. */
  delivery?: 'poll' | { push: string }
  /** A name of this process that does not change when it restarts, such as the name of its pod. An earlier stream with this name is deleted. */
  name?: string
  /** Number of seconds without a response of the feed after which requests are refused with 503. 60 by default. */
  maxAge?: number
  /** Maximum lifetime of an access token of this resource in seconds. A day by default. A revocation is stored for this time. */
  longestToken?: number
  /** Called when the feed fails and when it works again, for the log. */
  onChange?: (state: { healthy: boolean; reason: string }) => void
}

/** The options of `createVerifier`. */
export interface VerifierOptions {
  /** The issuer: the URL of the authorization server, as in its metadata. */
  issuer: string
  /** The URI of this resource. It is the audience of its tokens. */
  resource: string
  /** Scopes that every request must have. */
  scopes?: readonly string[]
  /** Classes of sign-in (`acr`) of which users' tokens must have one, such as `mfa` (RFC 9470). `phr` counts as `mfa`. */
  acrValues?: readonly string[]
  /** The scopes that the metadata of this resource lists. `scopes` by default. */
  scopesSupported?: readonly string[]
  /** `accepted` by default: tokens that are bound to a key need a proof, others do not. `required` refuses the others. */
  dpop?: 'accepted' | 'required'
  /** The URL of the metadata of this resource. By default the well-known URL of `resource` (RFC 9728 §3). */
  resourceMetadata?: string
  /** Revoked tokens are refused within about two seconds, without a request to the authorization server for each token. */
  revocations?: RevocationOptions
  /** Introspects tokens at the authorization server (RFC 7662): all tokens, or those for which `when` returns true. */
  introspection?: ClientCredentials & { when?: (token: AccessToken) => boolean }
  /** Maximum difference between clocks in seconds. 5 by default. */
  clockTolerance?: number
  /** Maximum number of verified tokens in the cache. 10,000 by default. */
  cacheSize?: number
  /** Replaces the global `fetch`, for tests and for proxies. */
  fetch?: typeof fetch
}

/** A verified access token. */
export interface AccessToken {
  readonly token: string
  readonly claims: Readonly<JWTPayload>
  /** The user, or the client if no user is involved. */
  readonly subject: string
  readonly clientId: string
  readonly scopes: readonly string[]
  /** Epoch seconds. */
  readonly expiresAt: number
  /** The id of the key that signed the token. */
  readonly keyId: string
}

/** The parts of a request that verification needs. A `Request` of the Fetch API has them. */
export interface IncomingRequest {
  method: string
  /** The URL or its path. Only the path is used. The origin is that of `resource`, which is the origin that clients see. */
  url: string
  headers: { get(name: string): string | null } | Readonly<Record<string, string | readonly string[] | undefined>>
}

/** The metadata document of a resource (RFC 9728 §2). */
export interface ResourceMetadata {
  resource: string
  authorization_servers: string[]
  scopes_supported?: string[]
  bearer_methods_supported: string[]
  dpop_signing_alg_values_supported: string[]
  dpop_bound_access_tokens_required?: true
}
