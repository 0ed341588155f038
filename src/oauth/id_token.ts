// ID tokens of the upstream OpenID provider (OpenID Connect Core §3.1.3.7): the signature, and the checks that openid-client does not make.
import { accessTokenHash, decodeJws, isUpstreamAlg, type Jws } from '../crypto/jws.ts'
import type { CryptoLanes } from '../crypto/pool.ts'
import { isSignedByOneOf } from '../crypto/signers.ts'
import { OAuthError } from '../lib/error.ts'
import { fitsIndex } from '../lib/field.ts'
import type { Clock } from '../lib/time.ts'
import type { RemoteKeys } from '../net/jwks.ts'
import type { UpstreamAlg } from '../records/jwk.ts'

/** The groups of a user can make a token this long. */
const MAX_TOKEN = 128 * 1024
/** Maximum length of `sub` (OpenID Connect Core §2). */
const MAX_SUB = 255
/** Tolerance in seconds for clock differences between servers. */
export const SKEW = 60

export type IdTokenClaims = Readonly<Record<string, unknown>>

/** The parts that verify signatures of a provider. */
export interface SignedParts {
  crypto: CryptoLanes
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
  const check = ({ payload }: Jws, alg: UpstreamAlg) =>
    checkClaims(payload, expected, parts.clock.now(), accessTokenHash(alg, access_token))
  return verifySigned(parts, id_token, expected.jwks_uri, refused, check)
}

/** Verifies a token that the provider signed. `check` reads it before the signature is verified, which costs more. Throws the errors of `refuse`. */
export async function verifySigned<T>(
  { crypto, keys }: SignedParts,
  text: string,
  jwks_uri: string,
  refuse: (reason: string) => OAuthError,
  check: (jws: Jws, alg: UpstreamAlg) => T,
): Promise<T> {
  const jws = decodeJws(text, MAX_TOKEN)
  if (!jws) throw refuse('malformed')
  const { alg, kid } = jws.header
  if (!isUpstreamAlg(alg)) throw refuse('alg')
  if (kid !== undefined && typeof kid !== 'string') throw refuse('kid')
  const checked = check(jws, alg)
  const found = await keys.find(jwks_uri, { kid, alg })
  if (!(await isSignedByOneOf(crypto, found, alg, jws))) throw refuse(found.length === 0 ? 'unknown_key' : 'signature')
  return checked
}

function checkClaims(
  claims: IdTokenClaims,
  expected: ExpectedIdToken,
  now: number,
  at_hash: string,
): IdTokenClaims & { sub: string } {
  const { iss, aud, azp, nonce, exp, iat, nbf, sub } = claims
  const isTime = (value: unknown): value is number => typeof value === 'number'
  if (iss !== expected.issuer) throw refused('iss')
  const audience = Array.isArray(aud) ? aud : [aud]
  if (!audience.includes(expected.client_id)) throw refused('aud')
  if ((azp !== undefined || audience.length > 1) && azp !== expected.client_id) throw refused('azp')
  if (nonce !== expected.nonce) throw refused('nonce')
  if (!isTime(exp) || exp <= now - SKEW) throw refused('exp')
  if (!isTime(iat) || iat > now + SKEW) throw refused('iat')
  if (nbf !== undefined && !(isTime(nbf) && nbf <= now + SKEW)) throw refused('nbf')
  // Binds the access token, which is sent to the userinfo endpoint, to this sign-in.
  if (claims['at_hash'] !== undefined && claims['at_hash'] !== at_hash) throw refused('at_hash')
  if (!isSubject(expected.issuer, sub)) throw refused('sub')
  return { ...claims, sub }
}

/** Whether a `sub` can identify an account. */
export const isSubject = (issuer: string, sub: unknown): sub is string =>
  typeof sub === 'string' && sub !== '' && sub.length <= MAX_SUB && fitsIndex(issuer, sub) && !/\p{C}/u.test(sub)
