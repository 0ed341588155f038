// Identity assertion grants (ID-JAG, Enterprise-Managed Authorization): the verification of assertions, in order.
import type { App } from '../../context.ts'
import { decodeJws, isAlg, type Jws } from '../../crypto/jws.ts'
import { CLOCK_SKEW } from '../../crypto/jwt_times.ts'
import { OAuthError } from '../../lib/error.ts'
import type { Reason } from '../../lib/reasons/index.ts'
import type { Client } from '../../records/client.ts'
import type { Idp } from '../../records/idp.ts'
import { consumeOnce } from '../tokens/single_use.ts'
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

export const ID_JAG_PROFILE = 'urn:ietf:params:oauth:grant-profile:id-jag'

/** A verified assertion of the client that sent it. */
export interface Assertion extends FederatedSubject {
  jti: string
  /** The time after which it is no longer accepted, in epoch seconds. */
  valid_until: number
  scope?: string
  resources: string[]
  /** Thumbprint of the key that the sender must prove (RFC 7800). */
  jkt?: string
}

const refuse = (reason: Reason) => new OAuthError('invalid_grant', 'the assertion is not valid', { reason })
const ID_JAG: IdpTokenKind = { refuse, isAlg, isTyp: (typ) => typ === 'oauth-id-jag+jwt' }

/** Verifies an assertion. Throws invalid_grant, or 503 when the keys of its issuer are not available. */
export async function verifyAssertion(app: App, text: string, client: Pick<Client, 'client_id'>): Promise<Assertion> {
  const jws = decodeJws(text, MAX_IDP_TOKEN)
  if (!jws) throw refuse('malformed')
  return readClaims(app, jws.payload, await verifySigner(app, jws, ID_JAG), client)
}

function readClaims(app: App, payload: Jws['payload'], idp: Idp, client: Pick<Client, 'client_id'>): Assertion {
  const { aud, iat, jti, client_id, scope, resource } = payload
  const now = app.clock.now()
  const maxAge = app.config.xaa.max_assertion_age
  const exp = checkTimes(payload, ID_JAG, { now, maxAge })
  if (onlyOf(aud) !== idp.audience) throw refuse('audience')
  const sub = subjectOf(payload, idp, ID_JAG)
  if (!isClaimText(jti)) throw refuse('jti')
  if (client_id !== client.client_id) throw refuse('another_client')
  if (scope !== undefined && typeof scope !== 'string') throw refuse('scope')
  checkUnrestricted(payload, ID_JAG)
  return {
    idp,
    sub,
    proven: provenIn(app, payload),
    jti,
    valid_until: Math.min(exp, Number(iat) + maxAge) + CLOCK_SKEW.assertion,
    scope,
    resources: resource === undefined ? [] : listOf(resource),
    jkt: confirmedKey(payload, ID_JAG),
  }
}

const onlyOf = (aud: unknown): unknown => (Array.isArray(aud) && aud.length === 1 ? aud[0] : aud)

function listOf(resource: unknown): string[] {
  const list = Array.isArray(resource) ? resource : [resource]
  // An empty list allows no resource. It must not be treated like an absent claim, which allows every resource.
  if (list.length === 0 || !list.every(isClaimText)) throw refuse('resource')
  return list
}

/** Consumes an assertion. Throws invalid_grant when it was used before, in this process or in another one. */
export async function consumeAssertion(app: App, { idp, jti, valid_until }: Assertion): Promise<void> {
  if (!(await consumeOnce(app, 'assertion', idp.issuer, jti, Math.ceil(valid_until) + 1))) throw refuse('replay')
}
