// Access tokens: the claims of an at+jwt (RFC 9068), derived from an issuance, and the verification of tokens of this service.
import { issuerOf } from '../../config/issuer.ts'
import type { App } from '../../context.ts'
import { decodeJws, type Jws, signedLength } from '../../crypto/jws.ts'
import type { PublishedKey } from '../../crypto/keyring.ts'
import type { SigningKey } from '../../crypto/pool.ts'
import { isId } from '../../lib/id.ts'
import type { AuthorizationDetail } from '../../records/authorization_details.ts'
import { USERINFO_CONSENT } from '../../records/consent.ts'
import type { Actor, Issuance } from '../../records/issuance.ts'
import { ACCESS_TOKEN_TYPS } from '../../records/resource.ts'
import type { TokenState } from '../../store/tokens/issuances.ts'
import { isUserId } from '../clients/client_metadata.ts'
import { type Identity, signInClaims } from '../openid.ts'
import type { ClaimsAbout } from './access.ts'
import { scopeNames } from './resource.ts'
import { accessOf } from './subject_access.ts'

export interface AccessTokenClaims extends ClaimsAbout {
  iss: string
  sub: string
  aud?: string[]
  exp: number
  iat: number
  jti: string
  client_id: string
  scope?: string
  authorization_details?: AuthorizationDetail[]
  cnf?: { jkt: string }
  act?: Actor
  agent_id?: string
  agent_chain?: string[]
  /** When and how the user signed in (RFC 9470 §6.1). */
  auth_time?: number
  acr?: string
  amr?: string[]
}

const MAX_AGENT_CHAIN = 8

/** The claims of an issuance. `issuer` is the issuer at the time of the issuance. */
export function claimsOf(i: Issuance, issuer: string): AccessTokenClaims {
  const claims: AccessTokenClaims = {
    iss: issuer,
    sub: i.sub,
    exp: i.expires_at,
    iat: i.issued_at,
    jti: i.id,
    client_id: i.client_id,
  }
  if (i.resource) claims.aud = [i.resource]
  if (i.scope) claims.scope = i.scope
  if (i.authorization_details) claims.authorization_details = i.authorization_details
  if (i.jkt) claims.cnf = { jkt: i.jkt }
  if (i.act) claims.act = i.act
  if (i.is_agent) {
    claims.agent_id = i.client_id
    if (i.act) claims.agent_chain = agentChain(i.act)
  }
  return claims
}

/** What a token says about its user: the claims that the resource asks for, and how the user signed in. */
interface AboutUser {
  about?: ClaimsAbout
  identity?: Identity
}

/**
 * The claims with those about the user. Clients send the token in a header, which proxies limit: groups that would make the signed token
 * longer than oauth.max_token_bytes are omitted, all of them. Introspection returns them.
 */
export function withUserClaims(
  { config, keyring }: App,
  { kid, header }: SigningKey,
  claims: AccessTokenClaims,
  { about = {}, identity }: AboutUser,
): AccessTokenClaims {
  const { groups, ...others } = about
  const short = { ...claims, ...others, ...(identity ? signInClaims(identity) : {}) }
  if (groups === undefined) return short
  const long = { ...short, groups }
  const length = signedLength(header, JSON.stringify(long), keyring.find(kid)?.jwk)
  return length <= config.oauth.max_token_bytes ? long : short
}

/** The actors, oldest first. A chain of more than eight is shortened to the first and the last seven. */
function agentChain(act: Actor): string[] {
  const chain: string[] = []
  for (let at: Actor | undefined = act; at; at = at.act) chain.unshift(at.sub)
  return chain.length <= MAX_AGENT_CHAIN ? chain : [chain[0] as string, ...chain.slice(1 - MAX_AGENT_CHAIN)]
}

/** `DPoP` for a token that is bound to a key, otherwise `Bearer`. The token of a provider is never bound, even when the request had a proof. */
export const tokenType = ({ jkt, broker_provider }: { jkt?: string; broker_provider?: string }): 'DPoP' | 'Bearer' =>
  jkt && !broker_provider ? 'DPoP' : 'Bearer'

/** Authorization details alone may have 16 KB, a third more in base64url. */
export const MAX_TOKEN_LENGTH = 32_768

/** A decoded token with a key of this service. Its signature is not verified yet. */
export interface Candidate {
  token: string
  jws: Jws
  key: PublishedKey
  jti: string
}

/** The types that access tokens may have. The record of a token says which one it has. */
const isAccessTokenTyp = (typ: unknown): boolean => ACCESS_TOKEN_TYPS.some((known) => known === typ)

/** Decodes a token. Undefined unless it has the type of an access token and names a key of this service. */
export async function decodeAccessToken(app: App, token: string): Promise<Candidate | undefined> {
  const jws = decodeJws(token, MAX_TOKEN_LENGTH)
  const { typ, alg, kid } = jws?.header ?? {}
  const { jti, iss } = jws?.payload ?? {}
  if (!jws || typeof kid !== 'string' || !isAccessTokenTyp(typ) || typeof jti !== 'string' || !isId(jti))
    return undefined
  // An unknown key is looked up only when the token names this issuer.
  const key = app.keyring.find(kid) ?? (iss === issuerOf(app.config) ? await app.keyring.seek(kid) : undefined)
  return key && alg === key.alg ? { token, jws, key, jti } : undefined
}

/** Whether a token has the type that it was issued with: an ID token of the same key must never be accepted instead. */
export const hasRecordedTyp = ({ jws }: Candidate, { typ = 'at+jwt' }: Pick<Issuance, 'typ'>): boolean =>
  jws.header['typ'] === typ

/** The claims of a token with a valid signature, otherwise undefined. The claims are not checked. */
export async function signedClaims(app: App, { token, jws, key }: Candidate): Promise<AccessTokenClaims | undefined> {
  const { alg, jwk, thumbprint } = key
  const { input, signature } = jws
  const verify = () => app.crypto.verify({ alg, jwk, thumbprint, input, signature })
  const isAuthentic = await app.knownTokens.isAuthentic(token, app.clock.now(), verify)
  return isAuthentic ? (jws.payload as unknown as AccessTokenClaims) : undefined
}

/** The claims of an unexpired token that this service signed, otherwise undefined. Revocation is not checked. */
export async function verifyAccessToken(app: App, candidate: Candidate): Promise<AccessTokenClaims | undefined> {
  const claims = await signedClaims(app, candidate)
  return claims && isOurs(app, claims) && isUnexpired(app, claims) ? claims : undefined
}
const isOurs = ({ config }: App, { iss }: AccessTokenClaims): boolean => iss === issuerOf(config)
const isUnexpired = ({ clock }: App, { exp }: AccessTokenClaims): boolean => exp > clock.now()

/** A token that is valid and not revoked, with its record. */
export interface LiveToken {
  claims: AccessTokenClaims
  issuance: Issuance
  /** The version of its user; undefined when the subject is not a user here. */
  user_version?: number
  /** The scope of its consent now. Undefined when it was issued without one. */
  consent_scope?: string
  /** Whether it was granted for the userinfo endpoint. Its audience is the issuer, which a resource may have as its URI too. */
  is_for_userinfo?: boolean
  /** The claims about its user that the resource asks for, as they are now. */
  about?: ClaimsAbout
  /** Number of token exchanges from the first token to this one. */
  exchanges: number
}

/** Why a token is not valid. This is for operators; callers only learn that the token is inactive. */
export type DeadReason =
  | 'token_unknown'
  | 'token_expired'
  | 'token_revoked'
  | 'client_not_active'
  | 'user_not_active'
  | 'access_refused'

/**
 * A token of this service that is unexpired and not revoked, whose client and user are active, and whose user may use the resource.
 * Scopes that the user may no longer have are removed from it. Otherwise the reason why it is not valid.
 */
export async function checkToken(app: App, token: string): Promise<LiveToken | DeadReason> {
  const candidate = await decodeAccessToken(app, token)
  if (!candidate) return 'token_unknown'
  const [claims, state] = await Promise.all([
    signedClaims(app, candidate),
    app.store.findTokenState({ id: candidate.jti }),
  ])
  if (!claims || !isOurs(app, claims) || !state || !hasRecordedTyp(candidate, state.issuance)) return 'token_unknown'
  if (!isUnexpired(app, claims)) return 'token_expired'
  if (!state.live) return 'token_revoked'
  const issuedTo = await app.store.findClient({ client_id: claims.client_id })
  if (issuedTo?.status !== 'active') return 'client_not_active'
  if (isUserId(claims.sub) && state.user_status !== 'active') return 'user_not_active'
  return withAccess(app, claims, state)
}

async function withAccess(app: App, claims: AccessTokenClaims, state: TokenState): Promise<LiveToken | DeadReason> {
  const { issuance, exchanges, user_version, consent_scope } = state
  const is_for_userinfo = state.consent_resource_id === USERINFO_CONSENT
  const live = { claims, issuance, exchanges, user_version, consent_scope, is_for_userinfo }
  const uri = claims.aud?.[0]
  const resource = uri === undefined || is_for_userinfo ? undefined : await app.store.findResource({ uri })
  if (!resource) return live
  const names = scopeNames(claims.scope ?? '')
  const { sub, client_id } = claims
  const { scope, refused_by, about } = await accessOf(
    app,
    resource,
    { sub, client_id, user_version, proven: claims },
    names,
  )
  if (refused_by) return 'access_refused'
  const left = scope.length === names.length ? claims : { ...claims, scope: scope.join(' ') }
  return { ...live, claims: left, about }
}

/** The token if it is valid, otherwise undefined. */
export async function findLiveToken(app: App, token: string): Promise<LiveToken | undefined> {
  const checked = await checkToken(app, token)
  return typeof checked === 'string' ? undefined : checked
}
