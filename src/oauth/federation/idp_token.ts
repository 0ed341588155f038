// Tokens that an identity provider signed: what ID-JAG assertions and subject tokens of an exchange have in common.
import { isOwnIssuer } from '../../config/issuer.ts'
import type { App } from '../../context.ts'
import type { Jws } from '../../crypto/jws.ts'
import { MAX_LIFE, type TimeRules, timeFaultOf } from '../../crypto/jwt_times.ts'
import { isSignedByOneOf } from '../../crypto/signers.ts'
import { type OAuthError, unavailable } from '../../lib/error.ts'
import { fitsIndex } from '../../lib/field.ts'
import type { Reason } from '../../lib/reasons/index.ts'
import { FetchError } from '../../net/error.ts'
import type { Idp } from '../../records/idp.ts'
import type { UpstreamAlg } from '../../records/jwk.ts'
import type { Proven } from '../../records/sign_in.ts'
import { provenUpstream } from '../sign_in/second_factor.ts'

export const MAX_IDP_TOKEN = 16_384
/** Maximum number of bytes of one claim. */
const MAX_CLAIM = 1024

/** A subject as an identity provider names it. */
export interface FederatedSubject {
  idp: Idp
  sub: string
  /** How the person has signed in there. */
  proven?: Proven
}

/** What the claims of a token say of the sign-in, as far as it counts here (`oidc.mfa_values`). */
export const provenIn = ({ config }: Pick<App, 'config'>, claims: Record<string, unknown>): Proven =>
  provenUpstream(claims, config.oidc.mfa_values, isClaimText)

/** A kind of token of an identity provider. */
export interface IdpTokenKind {
  /** The refusal for a reason. */
  refuse(reason: Reason): OAuthError
  /** Whether a `typ` header is that of this kind. */
  isTyp(typ: unknown): boolean
  /** Whether a token of this kind may be signed with an algorithm. */
  isAlg(alg: unknown): alg is UpstreamAlg
  /** Why the provider is not trusted for this kind; undefined when it is. */
  distrust?(idp: Idp): Reason | undefined
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

/** Checks the times of a token. Returns its `exp`. */
export function checkTimes(payload: Jws['payload'], { refuse }: IdpTokenKind, rules: Omit<TimeRules, 'life'>): number {
  const found = timeFaultOf(payload, { ...rules, life: MAX_LIFE })
  if (found?.fault === 'old') throw refuse('too_old')
  if (found) throw refuse(found.claim === 'exp' ? 'expired' : found.claim)
  return Number(payload['exp'])
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
