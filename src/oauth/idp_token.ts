// Tokens that an identity provider signed: what ID-JAG assertions and subject tokens of an exchange have in common.
import { isOwnIssuer } from '../config/issuer.ts'
import type { App } from '../context.ts'
import type { Jws } from '../crypto/jws.ts'
import { isSignedByOneOf } from '../crypto/signers.ts'
import { type OAuthError, unavailable } from '../lib/error.ts'
import { fitsIndex } from '../lib/field.ts'
import { DAY } from '../lib/time.ts'
import { FetchError } from '../net/error.ts'
import type { Idp } from '../records/idp.ts'
import type { UpstreamAlg } from '../records/jwk.ts'

export const MAX_IDP_TOKEN = 16_384
/** Maximum number of bytes of one claim. */
const MAX_CLAIM = 1024
/** Tolerance in seconds for clock differences between servers. */
export const CLOCK_SKEW = 30
/** Maximum remaining lifetime. A later exp is in milliseconds, or wrong. */
const YEAR = 365 * DAY

/** A subject as an identity provider names it. */
export interface FederatedSubject {
  idp: Idp
  sub: string
}

/** A kind of token of an identity provider. */
export interface IdpTokenKind {
  /** The refusal for a reason. */
  refuse(reason: string): OAuthError
  /** Whether a `typ` header is that of this kind. */
  isTyp(typ: unknown): boolean
  /** Whether a token of this kind may be signed with an algorithm. */
  isAlg(alg: unknown): alg is UpstreamAlg
  /** Why the provider is not trusted for this kind; undefined when it is. */
  distrust?(idp: Idp): string | undefined
}

// Lone surrogates and control characters are refused: they corrupt log lines and identifiers.
export const isClaimText = (value: unknown): value is string =>
  typeof value === 'string' && Buffer.byteLength(value) <= MAX_CLAIM && /^[^\p{C}]+$/u.test(value)

/** The identity provider that signed a token of a kind. Throws the refusal of the kind, or 503 when the keys of the issuer are not available. */
export async function verifySigner(app: App, jws: Jws, kind: IdpTokenKind): Promise<Idp> {
  if (!kind.isTyp(jws.header['typ'])) throw kind.refuse('typ')
  const idp = await findIssuer(app, jws.payload['iss'], kind)
  const distrust = kind.distrust?.(idp)
  if (distrust) throw kind.refuse(distrust)
  await checkSignature(app, jws, idp, kind)
  return idp
}

/** The identity provider of an `iss`: registered, enabled, and not this service itself. */
async function findIssuer(app: App, iss: unknown, { refuse }: IdpTokenKind): Promise<Idp> {
  if (!isClaimText(iss) || isOwnIssuer(app.config, iss)) throw refuse('issuer')
  const idp = await app.store.findIdpByIssuer({ issuer: iss })
  if (!idp) throw refuse('unknown_issuer')
  if (!idp.enabled) throw refuse('issuer_disabled')
  return idp
}

async function checkSignature(app: App, jws: Jws, { jwks_uri }: Idp, { refuse, isAlg }: IdpTokenKind): Promise<void> {
  const { alg, kid } = jws.header
  if (!isAlg(alg)) throw refuse('alg')
  if (kid !== undefined && !isClaimText(kid)) throw refuse('kid')
  const keys = await app.remoteKeys.find(jwks_uri, { kid, alg }).catch((error: unknown) => {
    if (!(error instanceof FetchError)) throw error
    throw unavailable('the keys of the issuer are not available', { reason: `jwks_${error.reason}`, cause: error })
  })
  if (!(await isSignedByOneOf(app.crypto, keys, alg, jws)))
    throw refuse(keys.length === 0 ? 'unknown_key' : 'signature')
}

const isTime = (value: unknown): value is number => typeof value === 'number'

/** The `exp` of a token, which has not expired longer than `skew` seconds ago. */
export function expiryOf({ exp }: Jws['payload'], now: number, { refuse }: IdpTokenKind, skew: number): number {
  if (!isTime(exp) || exp <= now - skew || exp > now + YEAR) throw refuse('expired')
  return exp
}

/** The `iat` of a token, which is not in the future. */
export function issueTimeOf({ iat }: Jws['payload'], now: number, { refuse }: IdpTokenKind): number {
  if (!isTime(iat) || iat > now + CLOCK_SKEW) throw refuse('iat')
  return iat
}

/** Checks that `nbf` is absent or not in the future. */
export function checkNotBefore({ nbf }: Jws['payload'], now: number, { refuse }: IdpTokenKind): void {
  if (nbf !== undefined && !(isTime(nbf) && nbf <= now + CLOCK_SKEW)) throw refuse('nbf')
}

/** The `sub` of a token. A subject without a mapping is identified by issuer and subject together. */
export function subjectOf({ sub }: Jws['payload'], { issuer }: Idp, { refuse }: IdpTokenKind): string {
  if (!isClaimText(sub) || !fitsIndex(issuer, ':', sub)) throw refuse('sub')
  return sub
}

/** This service cannot enforce restrictions of authorization_details (RFC 9396). */
export function checkUnrestricted({ authorization_details }: Jws['payload'], { refuse }: IdpTokenKind): void {
  if (authorization_details !== undefined) throw refuse('authorization_details')
}

/** The key of the `jkt` confirmation method, the only supported one; other methods must not be ignored (RFC 7800 §3.1). */
export function confirmedKey({ cnf }: Jws['payload'], { refuse }: IdpTokenKind): string | undefined {
  if (cnf === undefined) return undefined
  const { jkt, ...others } = (cnf ?? {}) as Record<string, unknown>
  if (typeof jkt !== 'string' || Object.keys(others).length > 0) throw refuse('cnf')
  return jkt
}
