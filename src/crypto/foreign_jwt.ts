// JWTs of other issuers, verified by jose on the thread pool of Node: ID tokens and logout tokens, one for each sign-in. Assertions, of
// which there are many, are verified by the crypto threads (signers.ts), which takes 35 us less of the front thread.
import { errors, type JWTHeaderParameters, type JWTPayload, type JWTVerifyOptions, jwtVerify } from 'jose'
import type { OAuthError } from '../lib/error.ts'
import type { WantedKey } from '../net/jwks.ts'
import type { Jwk, UpstreamAlg } from '../records/jwk.ts'
import { importKey, UPSTREAM_ALGS } from './jws.ts'
import { isTime, MAX_LIFE } from './jwt_times.ts'
import { affordable } from './signers.ts'

export interface ForeignJwt {
  alg: UpstreamAlg
  typ: unknown
  claims: JWTPayload
}
export interface JwtTrust extends Pick<JWTVerifyOptions, 'issuer' | 'audience' | 'maxTokenAge'> {
  /** The keys that may have made the signature. */
  find(wanted: WantedKey): Promise<readonly Jwk[]>
  /** The time in seconds, and the tolerance for clock differences. */
  now: number
  clockTolerance: number
  /** The refusal for a reason: `malformed`, `alg`, `kid`, `unknown_key`, `signature`, or the name of a claim. */
  refuse(reason: string): OAuthError
}

/** The groups of a user can make a token this long. */
const MAX_LENGTH = 128 * 1024
/** Our reasons by the codes of jose. An error about a claim has its name. */
const REASONS: Readonly<Record<string, string>> = {
  ERR_JOSE_ALG_NOT_ALLOWED: 'alg',
  // An unknown critical extension.
  ERR_JOSE_NOT_SUPPORTED: 'malformed',
  ERR_JWS_INVALID: 'malformed',
  ERR_JWT_INVALID: 'malformed',
  ERR_JWKS_NO_MATCHING_KEY: 'unknown_key',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'signature',
}

/** Verifies signature, issuer, audience and times of a token. `exp` and `iat` are required. Throws the refusal of the reason, or an error of `find`. */
export async function verifyForeignJwt(text: string, { find, now, refuse, ...claims }: JwtTrust): Promise<ForeignJwt> {
  if (text.length > MAX_LENGTH) throw refuse('malformed')
  const options = {
    ...claims,
    algorithms: [...UPSTREAM_ALGS],
    currentDate: new Date(now * 1000),
    requiredClaims: ['exp', 'iat'],
  }
  let keys: readonly Jwk[] | undefined
  /** Several keys may have the same kid (RFC 7517 §4.5), so that each of them is tried. */
  for (let tried = 0; ; tried++)
    try {
      const { payload, protectedHeader } = await jwtVerify(
        text,
        async ({ alg, kid }: JWTHeaderParameters) => {
          if (kid !== undefined && typeof kid !== 'string') throw refuse('kid')
          keys ??= affordable(await find({ kid, alg: alg as UpstreamAlg }))
          const jwk = keys[tried]
          if (!jwk) throw new errors.JWKSNoMatchingKey()
          const key = importKey(alg as UpstreamAlg, jwk)
          if (!key) throw new errors.JWSSignatureVerificationFailed()
          return key
        },
        options,
      )
      const wrong = wrongTime(payload, now + MAX_LIFE + (claims.clockTolerance ?? 0))
      if (wrong) throw refuse(wrong)
      return { alg: protectedHeader.alg as UpstreamAlg, typ: protectedHeader.typ, claims: payload }
    } catch (error) {
      if (!(error instanceof errors.JOSEError)) throw error
      const isSignature = error instanceof errors.JWSSignatureVerificationFailed
      if (!isSignature || tried + 1 >= (keys?.length ?? 0)) throw refuse(reasonOf(error))
    }
}

/** The claim that jose accepted although it is no time, or an end after `last`. */
function wrongTime(claims: JWTPayload, last: number): string | undefined {
  const wrong = (['exp', 'iat', 'nbf'] as const).find((name) => claims[name] !== undefined && !isTime(claims[name]))
  return wrong ?? (Number(claims.exp) > last ? 'exp' : undefined)
}

function reasonOf(error: errors.JOSEError): string {
  if (error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired) return error.claim
  return REASONS[error.code] ?? 'malformed'
}
