// Identity assertion grants (ID-JAG, Enterprise-Managed Authorization): the verification of assertions, in order.
import { isOwnIssuer } from '../config/issuer.ts'
import type { App } from '../context.ts'
import { decodeJws, isAlg, type Jws } from '../crypto/jws.ts'
import { isSignedByOneOf } from '../crypto/signers.ts'
import { OAuthError, unavailable } from '../lib/error.ts'
import { fitsIndex } from '../lib/field.ts'
import { DAY } from '../lib/time.ts'
import { FetchError } from '../net/error.ts'
import type { Client } from '../records/client.ts'
import type { Idp } from '../records/idp.ts'
import { consumeOnce } from './single_use.ts'

export const ID_JAG_PROFILE = 'urn:ietf:params:oauth:grant-profile:id-jag'
const TYP = 'oauth-id-jag+jwt'
export const MAX_ASSERTION = 16_384
/** Maximum number of bytes of one claim. */
const MAX_CLAIM = 1024
/** Tolerance in seconds for clock differences between servers. */
const SKEW = 30
/** Maximum remaining lifetime. A later exp is in milliseconds, or wrong. */
const YEAR = 365 * DAY

/** A verified assertion of the client that sent it. */
export interface Assertion {
  idp: Idp
  sub: string
  jti: string
  /** The time after which it is no longer accepted, in epoch seconds. */
  valid_until: number
  scope?: string
  resources: string[]
  /** Thumbprint of the key that the sender must prove (RFC 7800). */
  jkt?: string
}

const refuse = (reason: string) => new OAuthError('invalid_grant', 'the assertion is not valid', { reason })
const isText = (value: unknown): value is string =>
  // Lone surrogates and control characters are refused: they corrupt log lines and identifiers.
  typeof value === 'string' && Buffer.byteLength(value) <= MAX_CLAIM && /^[^\p{C}]+$/u.test(value)

/** Verifies an assertion. Throws invalid_grant, or 503 when the keys of its issuer are not available. */
export async function verifyAssertion(app: App, text: string, client: Client): Promise<Assertion> {
  const jws = decodeJws(text, MAX_ASSERTION)
  if (!jws) throw refuse('malformed')
  if (jws.header['typ'] !== TYP) throw refuse('typ')
  const idp = await findIssuer(app, jws.payload['iss'])
  await checkSignature(app, jws, idp)
  return readClaims(app, jws.payload, idp, client)
}

/** The identity provider of an `iss`: registered, enabled, and not this service itself. */
async function findIssuer(app: App, iss: unknown): Promise<Idp> {
  if (!isText(iss) || isOwnIssuer(app.config, iss)) throw refuse('issuer')
  const idp = await app.store.findIdpByIssuer({ issuer: iss })
  if (!idp) throw refuse('unknown_issuer')
  if (!idp.enabled) throw refuse('issuer_disabled')
  return idp
}

async function checkSignature(app: App, jws: Jws, { jwks_uri }: Idp): Promise<void> {
  const { alg, kid } = jws.header
  if (!isAlg(alg)) throw refuse('alg')
  if (kid !== undefined && !isText(kid)) throw refuse('kid')
  const keys = await app.remoteKeys.find(jwks_uri, { kid, alg }).catch((error: unknown) => {
    if (!(error instanceof FetchError)) throw error
    throw unavailable('the keys of the issuer are not available', { reason: `jwks_${error.reason}`, cause: error })
  })
  if (!(await isSignedByOneOf(app.crypto, keys, alg, jws)))
    throw refuse(keys.length === 0 ? 'unknown_key' : 'signature')
}

function readClaims(app: App, payload: Jws['payload'], idp: Idp, client: Client): Assertion {
  const { aud, exp, iat, nbf, sub, jti, client_id, scope, resource, cnf, authorization_details } = payload
  const now = app.clock.now()
  const isTime = (value: unknown): value is number => typeof value === 'number'
  if (!isTime(exp) || exp <= now - SKEW || exp > now + YEAR) throw refuse('expired')
  if (!isTime(iat) || iat > now + SKEW) throw refuse('iat')
  const valid_until = iat + app.config.xaa.max_assertion_age
  if (valid_until < now) throw refuse('too_old')
  if (nbf !== undefined && !(isTime(nbf) && nbf <= now + SKEW)) throw refuse('nbf')
  if (onlyOf(aud) !== idp.audience) throw refuse('audience')
  // A subject without a mapping is identified by issuer and subject together.
  if (!isText(sub) || !fitsIndex(idp.issuer, ':', sub)) throw refuse('sub')
  if (!isText(jti)) throw refuse('jti')
  if (client_id !== client.client_id) throw refuse('another_client')
  if (scope !== undefined && typeof scope !== 'string') throw refuse('scope')
  // This service cannot enforce restrictions of authorization_details (RFC 9396).
  if (authorization_details !== undefined) throw refuse('authorization_details')
  return {
    idp,
    sub,
    jti,
    valid_until: Math.min(exp, valid_until) + SKEW,
    scope,
    resources: resource === undefined ? [] : listOf(resource),
    jkt: confirmedKey(cnf),
  }
}

const onlyOf = (aud: unknown): unknown => (Array.isArray(aud) && aud.length === 1 ? aud[0] : aud)

function listOf(resource: unknown): string[] {
  const list = Array.isArray(resource) ? resource : [resource]
  // An empty list allows no resource. It must not be treated like an absent claim, which allows every resource.
  if (list.length === 0 || !list.every(isText)) throw refuse('resource')
  return list
}

/** The key of the `jkt` confirmation method, the only supported one; other methods must not be ignored (RFC 7800 §3.1). */
function confirmedKey(cnf: unknown): string | undefined {
  if (cnf === undefined) return undefined
  const { jkt, ...others } = (cnf ?? {}) as Record<string, unknown>
  if (typeof jkt !== 'string' || Object.keys(others).length > 0) throw refuse('cnf')
  return jkt
}

/** Consumes an assertion. Throws invalid_grant when it was used before, in this process or in another one. */
export async function consumeAssertion(app: App, { idp, jti, valid_until }: Assertion): Promise<void> {
  if (!(await consumeOnce(app, 'assertion', idp.issuer, jti, Math.ceil(valid_until) + 1))) throw refuse('replay')
}
