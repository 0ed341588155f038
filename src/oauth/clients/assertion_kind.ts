// The kinds of client assertions (RFC 7521 §4.2): what each of them finds out about an assertion before its signature is verified.
import type { App } from '../../context.ts'
import type { Jws } from '../../crypto/jws.ts'
import { OAuthError, type RefusalReason } from '../../lib/error.ts'
import type { WantedKey } from '../../net/jwks.ts'
import type { AuthMethod, Client } from '../../records/client.ts'
import type { Jwk, VerifiedAlg } from '../../records/jwk.ts'
import type { SingleUse } from '../../records/single_use.ts'
import type { Asker } from './client_standing.ts'

/** The client_assertion_type of RFC 7523 §2.2. */
export const JWT_BEARER_ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** The grant type of RFC 7523 §2.1. */
export const JWT_BEARER_GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** An assertion as it was sent. Nothing in it is verified. */
export interface SentAssertion {
  /** The client_assertion_type parameter. */
  type: string
  jws: Jws
  /** The client_id parameter. */
  client_id?: string
  /** URLs of the endpoint that received it, and of the one that it may name in its place. */
  endpoints: readonly string[]
  asker: Asker
}

/** The client that an assertion authenticates if one of these keys has signed it. */
export interface AssertionCandidate {
  client: Client
  /** The keys that may have made the signature. Rejects as RemoteKeys.find() does. */
  findKeys(query: WantedKey): readonly Jwk[] | Promise<readonly Jwk[]>
  /** The id of an assertion that may be used once, and the time until which it is remembered, in epoch seconds. */
  once?: { jti: string; until: number }
}

/** A client that has authenticated. */
export interface AuthenticatedClient {
  client: Client
  /** The use of its assertion, to be committed with the token, or alone. */
  use?: SingleUse
}

/** A kind of client assertion. */
export interface AssertionKind {
  readonly method: AuthMethod
  /** The algorithms that it may be signed with. */
  readonly algs: readonly VerifiedAlg[]
  /** Whether an assertion is of this kind, by its type and its unverified claims. */
  matches(sent: SentAssertion): boolean
  /** Checks the claims and finds the client. The caller checks the registered method and the status of the client. Throws invalid_client. */
  find(app: App, sent: SentAssertion): Promise<AssertionCandidate>
}

const FAILED = 'client authentication failed'

/** Every failure that depends on a stored client has the same description: a caller must not learn which clients exist. */
export const refuseClient = (
  reason: RefusalReason,
  description = FAILED,
  about?: Readonly<Record<string, string>>,
): OAuthError => new OAuthError('invalid_client', description, { reason, about })

/** The refusal of a suspended client that has proved who it is. It may repeat its requests for ever, and they do not count against the limit of all callers. */
export const refuseSuspended = (): OAuthError =>
  new OAuthError('invalid_client', FAILED, { reason: 'client_suspended', uncounted: true })
