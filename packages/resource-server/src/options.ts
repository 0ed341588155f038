// What a verifier is made from, and what it returns.
import type { JWTPayload } from 'jose'

/** The credentials of the client that is this resource server at the authorization server. Its id is on the `runtime` list of the resource. */
export interface ClientCredentials {
  clientId: string
  clientSecret: string
}

/** How revocations reach the resource server. */
export interface RevocationOptions extends ClientCredentials {
  /** `poll` asks the authorization server (RFC 8936). `push` receives requests at this URL (RFC 8935): give them to `verifier.receive`. */
  delivery?: 'poll' | { push: string }
  /** The name of this process that stays the same when it starts again, such as the name of its pod. An earlier stream with this name is deleted. */
  name?: string
  /** Requests are refused with 503 when the feed has been silent for this time. Seconds, 60 by default. */
  maxAge?: number
  /** The longest lifetime of an access token of this resource. Seconds, a day by default. A revocation is remembered for this time. */
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
  /** Scopes that every request needs. */
  scopes?: readonly string[]
  /** The scopes that the metadata of this resource lists. `scopes` by default. */
  scopesSupported?: readonly string[]
  /** `accepted` by default: tokens that are bound to a key need a proof, others do not. `required` refuses the others. */
  dpop?: 'accepted' | 'required'
  /** The URL of the metadata of this resource. By default the well-known URL of `resource` (RFC 9728 §3). */
  resourceMetadata?: string
  /** Revoked tokens are refused within about two seconds, without a request to the authorization server for each token. */
  revocations?: RevocationOptions
  /** Asks the authorization server about tokens (RFC 7662): about all, or about those for which `when` returns true. */
  introspection?: ClientCredentials & { when?: (token: AccessToken) => boolean }
  /** Seconds that clocks may differ. 5 by default. */
  clockTolerance?: number
  /** The number of verified tokens that are remembered. 10,000 by default. */
  cacheSize?: number
  /** For tests and for proxies. */
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

/** A request as verification needs it. A `Request` of fetch fits. */
export interface IncomingRequest {
  method: string
  /** The URL or its path. Only the path is used: the origin is that of `resource`, as clients see it. */
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
