// ID tokens of the upstream OpenID provider (OpenID Connect Core §3.1.3.7): the signature, and the checks that openid-client does not make.
import { type JwtTrust, verifyForeignJwt } from '../../crypto/foreign_jwt.ts'
import { accessTokenHash } from '../../crypto/jws.ts'
import { CLOCK_SKEW } from '../../crypto/jwt_times.ts'
import { OAuthError } from '../../lib/error.ts'
import { fitsIndex } from '../../lib/field.ts'
import type { Clock } from '../../lib/time.ts'
import type { RemoteKeys } from '../../net/jwks.ts'

/** Maximum length of `sub` (OpenID Connect Core §2). */
const MAX_SUB = 255

export type IdTokenClaims = Readonly<Record<string, unknown>>

/** The parts that verify signatures of a provider. */
export interface SignedParts {
  clock: Clock
  /** Fetches the key set again, at most once, for a key that is not in it. */
  keys: RemoteKeys
}
interface Received {
  id_token: string
  access_token: string
}
/** The values that the token must have. */
export interface ExpectedIdToken {
  issuer: string
  client_id: string
  nonce: string
  jwks_uri: string
}

/** The error for a sign-in that could not be verified: 401, with a reason for the log. */
export const refused = (reason: string, about: Record<string, string> = {}): OAuthError =>
  new OAuthError('access_denied', 'the sign-in could not be verified', { status: 401, reason: `oidc_${reason}`, about })

/** Verifies an ID token. Returns its claims. Throws 401, or a FetchError when the keys are not available. */
export async function verifyIdToken(
  parts: SignedParts,
  { id_token, access_token }: Received,
  expected: ExpectedIdToken,
): Promise<IdTokenClaims & { sub: string }> {
  const { alg, claims } = await verifyForeignJwt(id_token, trustOf(parts, expected, refused))
  const { aud, azp, nonce, at_hash, iat, sub } = claims
  const isOfSeveral = Array.isArray(aud) && aud.length > 1
  if ((azp !== undefined || isOfSeveral) && azp !== expected.client_id) throw refused('azp')
  if (nonce !== expected.nonce) throw refused('nonce')
  if (Number(iat) > parts.clock.now() + CLOCK_SKEW.sign_in) throw refused('iat')
  // Binds the access token, which is sent to the userinfo endpoint, to this sign-in.
  if (at_hash !== undefined && at_hash !== accessTokenHash(alg, access_token)) throw refused('at_hash')
  if (!isSubject(expected.issuer, sub)) throw refused('sub')
  return { ...claims, sub }
}

/** What a token that the provider signed must have. */
export const trustOf = (
  { clock, keys }: SignedParts,
  { issuer, client_id, jwks_uri }: Omit<ExpectedIdToken, 'nonce'>,
  refuse: JwtTrust['refuse'],
): JwtTrust => ({
  issuer,
  audience: client_id,
  now: clock.now(),
  clockTolerance: CLOCK_SKEW.sign_in,
  find: (wanted) => keys.find(jwks_uri, wanted),
  refuse,
})

/** Whether a `sub` can identify an account. */
export const isSubject = (issuer: string, sub: unknown): sub is string =>
  typeof sub === 'string' && sub !== '' && sub.length <= MAX_SUB && fitsIndex(issuer, sub) && !/\p{C}/u.test(sub)
