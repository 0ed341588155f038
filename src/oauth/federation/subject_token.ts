// Subject tokens of a trusted identity provider (RFC 8693 §2.1): its access tokens and ID tokens, verified for a token exchange.
import { isOwnIssuer } from '../../config/issuer.ts'
import type { App } from '../../context.ts'
import { decodeJws, isUpstreamAlg, type Jws, mediaType } from '../../crypto/jws.ts'
import { OAuthError } from '../../lib/error.ts'
import type { Reason } from '../../lib/reasons/index.ts'
import type { Idp } from '../../records/idp.ts'
import type { Actor } from '../../records/issuance.ts'
import {
  checkTimes,
  checkUnrestricted,
  confirmedKey,
  type FederatedSubject,
  type IdpTokenKind,
  isClaimText,
  MAX_IDP_TOKEN,
  provenIn,
  subjectOf,
  verifySigner,
} from './idp_token.ts'

export const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'
export const JWT = 'urn:ietf:params:oauth:token-type:jwt'
export const ID_TOKEN = 'urn:ietf:params:oauth:token-type:id_token'

/** A verified token of a trusted identity provider. */
export interface ForeignToken extends FederatedSubject {
  /** Epoch seconds. */
  exp: number
  /** Thumbprint of the key to which it is bound (RFC 7800). */
  jkt?: string
  /** The actors that its provider recorded. */
  act?: Actor
}

/** A subject token that is not valid. */
const refuseSubject = (reason: Reason): OAuthError =>
  new OAuthError('invalid_grant', 'the subject token is not valid', { reason })

/** Many providers sign access tokens as plain JWT. Every other kind of token has a typ of its own, and is refused: an ID-JAG, a logout token. */
const typs = (...known: string[]): Pick<IdpTokenKind, 'isTyp'> => ({
  isTyp: (typ) => typ === undefined || (typeof typ === 'string' && known.includes(mediaType(typ))),
})
const common: Omit<IdpTokenKind, 'isTyp'> = {
  refuse: refuseSubject,
  isAlg: isUpstreamAlg,
  distrust: ({ subject_tokens }) => (subject_tokens ? undefined : 'subject_tokens_off'),
}
const ANY: IdpTokenKind = { ...common, ...typs('jwt', 'at+jwt') }
const OF_ID: IdpTokenKind = { ...common, ...typs('jwt') }

/** Verifies a subject token that is not one of this service. Throws invalid_grant, or 503 when the keys of its issuer are not available. */
export async function verifyForeignToken(app: App, text: string, type: string | undefined): Promise<ForeignToken> {
  const jws = app.config.xaa.enabled ? decodeJws(text, MAX_IDP_TOKEN) : undefined
  const { iss } = jws?.payload ?? {}
  if (!jws || (typeof iss === 'string' && isOwnIssuer(app.config, iss))) throw refuseSubject('invalid_subject_token')
  const kind = type === ID_TOKEN ? OF_ID : ANY
  return readClaims(app, jws.payload, await verifySigner(app, jws, kind), kind)
}

function readClaims(app: App, payload: Jws['payload'], idp: Idp, kind: IdpTokenKind): ForeignToken {
  const now = app.clock.now()
  // Without a tolerance: the new token must not outlive it.
  const exp = checkTimes(payload, kind, { now, expiredFor: 0 })
  const { aud } = payload
  const audiences: unknown[] = Array.isArray(aud) ? aud : [aud]
  if (!audiences.some((each) => typeof each === 'string' && idp.audiences.includes(each))) throw kind.refuse('audience')
  const sub = subjectOf(payload, idp, kind)
  // A logout token (OpenID Connect Back-Channel Logout §2.4) may have the typ, the aud and the sub of an ID token.
  if (payload['events'] !== undefined) throw kind.refuse('logout_token')
  checkUnrestricted(payload, kind)
  const act = actorsOf(payload['act'], idp, app.config.token_exchange.max_chain_depth, kind)
  return { idp, sub, proven: provenIn(app, payload), exp, jkt: confirmedKey(payload, kind), act }
}

/**
 * The actors of a token, which must be kept: without them the exchange would be an impersonation. They are named by issuer and subject
 * together, as subjects without a mapping, because a subject of another issuer may be equal to the id of a client here.
 */
function actorsOf(act: unknown, idp: Idp, depth: number, kind: IdpTokenKind): Actor | undefined {
  if (act === undefined) return undefined
  if (depth === 0 || typeof act !== 'object' || act === null) throw kind.refuse('act')
  const { sub, act: previous } = act as Record<string, unknown>
  if (!isClaimText(sub)) throw kind.refuse('act')
  const before = actorsOf(previous, idp, depth - 1, kind)
  return { sub: `${idp.issuer}:${sub}`, ...(before ? { act: before } : {}) }
}
