// Issues the token that a grant has decided on. Signature and commit run at the same time; the response waits for both.
import { issuerOf } from '../../config/issuer.ts'
import type { App } from '../../context.ts'
import { isRemote, type SigningKey } from '../../crypto/pool.ts'
import type { Request } from '../../http/message.ts'
import { DAY } from '../../lib/time.ts'
import type { AuthorizationDetail } from '../../records/authorization_details.ts'
import type { Client } from '../../records/client.ts'
import type { Actor, Issuance } from '../../records/issuance.ts'
import type { AccessTokenTyp, TokenAudience } from '../../records/resource.ts'
import type { SingleUse } from '../../records/single_use.ts'
import type { NewIssuance } from '../../store/tokens/issuances.ts'
import { type Identity, idTokenAlg, idTokenClaims } from '../openid.ts'
import type { ClaimsAbout } from './access.ts'
import { claimsOf, tokenType, withUserClaims } from './access_token.ts'
import { type Commit, runCommit } from './commit.ts'
import { nameOf } from './resource.ts'

/** The decision of a grant, independent of JWTs, database rows, metrics and HTTP. */
export interface Authorization {
  /** Short name of the grant. */
  grant_type: string
  client: Client
  sub: string
  resource?: TokenAudience
  scope: string
  /** What is granted beside the scope (RFC 9396). */
  authorization_details?: AuthorizationDetail[]
  /** Lifetime of the token in seconds. */
  lifetime: number
  /** Latest expiry of the token, in epoch seconds. */
  not_after?: number
  /** Thumbprint of the key to which the token is bound. */
  jkt?: string
  act?: Actor
  /** The claims about the user. */
  about?: ClaimsAbout
  /** How the user signed in. With `id_token` an ID token is issued too. */
  identity?: Identity
  family_id?: string
  consent_id?: string
  parent_id?: string
  /** The token of a provider, which is returned instead of a token of this service. */
  vended?: { provider: string; access_token: string; expires_in: number }
  /** Labels of the grant's own counter. */
  labels?: Record<string, string>
  /** The type of the token in the response to a token exchange (RFC 8693 §2.2.1). */
  issued_token_type?: string
  /** The store operation that commits the token; without it only the record of the token is added. */
  commit?: Commit
}

/** A token response (RFC 6749 §5.1). */
export interface TokenResponse {
  access_token: string
  token_type: 'Bearer' | 'DPoP'
  expires_in: number
  refresh_token?: string
  id_token?: string
  scope?: string
  authorization_details?: AuthorizationDetail[]
  issued_token_type?: string
}

/**
 * Issues the token of an authorization. Its jti is the id of the request. The response is sent only after the commit, which also records
 * the uses of the proof and the assertion of the request.
 */
export async function issue(
  app: App,
  request: Request,
  a: Authorization,
  uses: readonly SingleUse[],
): Promise<TokenResponse> {
  const now = app.clock.now()
  const typ = a.vended ? undefined : a.resource?.access_token_typ
  const key = a.vended ? undefined : app.keyring.current(typ)
  const issuance = newIssuance(request, a, { now, uses, key, typ })
  const { access_token, refresh_token, id_token } = await (key ? sign(app, key, a, issuance) : vend(app, a, issuance))
  noteIssued(app, request, a.client, issuance)
  const { issued_token_type } = a
  const expires_in = issuance.expires_at - now
  const scope = a.scope === '' ? undefined : a.scope
  // JSON omits the members that are undefined.
  return {
    access_token,
    token_type: tokenType(issuance),
    expires_in,
    refresh_token,
    id_token,
    scope,
    authorization_details: a.authorization_details,
    issued_token_type,
  }
}

/** Notes, measures and counts a token that was issued. */
export function noteIssued(app: App, request: Request, client: Client, issuance: Issuance): void {
  request.notes.issued = issuance
  measure(app, request, issuance)
  touchClient(app, client, issuance.issued_at)
}

type Tokens = Pick<TokenResponse, 'access_token' | 'refresh_token' | 'id_token'>

async function sign(app: App, key: SigningKey, a: Authorization, issuance: NewIssuance): Promise<Tokens> {
  const issuer = issuerOf(app.config)
  const plain = claimsOf(issuance, issuer)
  const claims = a.about || a.identity ? withUserClaims(app, key, plain, a) : plain
  const idToken = a.identity?.id_token && (await idTokenOf(app, a.client, issuance, a.identity))
  const signature = () => (idToken ? app.crypto.signBoth(key, claims, idToken) : app.crypto.sign(key, claims))
  // A remote engine may fail, so that it signs before the commit. Otherwise the commit starts first: this thread may sign meanwhile.
  const signed = isRemote(key) ? await signature() : undefined
  const [refresh_token, tokens] = await Promise.all([runCommit(app, a.commit, issuance), signed ?? signature()])
  const [access_token, id_token] = typeof tokens === 'string' ? [tokens] : tokens
  app.knownTokens.signed(access_token, issuance.issued_at)
  return { access_token, refresh_token, id_token }
}

const idTokenOf = async ({ config, keyring }: App, client: Client, issuance: Issuance, identity: Identity) => ({
  key: await keyring.idTokenKey(idTokenAlg(config, client)),
  claims: idTokenClaims(issuerOf(config), issuance, identity),
})

/** Records the token of a provider like an issued token: client, subject, resource and scope. The token itself is not stored. */
async function vend(app: App, a: Authorization, issuance: NewIssuance): Promise<Tokens> {
  const refresh_token = await runCommit(app, a.commit, issuance)
  return { access_token: a.vended?.access_token as string, refresh_token }
}

/** The record of a token. One literal, so that every record has the same hidden class: one is created for each token. */
export const newIssuance = (
  request: Request,
  a: Authorization,
  { now, uses, key, typ }: { now: number; uses: readonly SingleUse[]; key?: SigningKey; typ?: AccessTokenTyp },
): NewIssuance => ({
  id: request.id,
  grant_type: a.grant_type,
  client_id: a.client.client_id,
  sub: a.sub,
  resource: a.resource && nameOf(a.resource),
  scope: a.scope,
  authorization_details: a.authorization_details,
  issued_at: now,
  expires_at: a.vended
    ? now + a.vended.expires_in
    : Math.min(now + Math.floor(a.lifetime), a.not_after ?? Number.POSITIVE_INFINITY),
  kid: key?.kid ?? '',
  jkt: a.jkt,
  act: a.act,
  is_agent: a.client.is_agent,
  family_id: a.family_id,
  consent_id: a.consent_id,
  parent_id: a.parent_id,
  broker_provider: a.vended?.provider,
  ip: request.remote,
  typ,
  uses: uses.length > 0 ? uses : undefined,
})

/** Records that a client is in use, at most once a day, so that unused registrations can be found. The response does not wait for it. The storage reports its own failures. */
function touchClient(app: App, { client_id, registration_source, last_used_at = 0 }: Client, now: number): void {
  if (registration_source === 'admin' || now - last_used_at < DAY) return
  app.store.touchClient({ client_id, now }).catch((error) => {
    app.log.debug({ err: error, client_id }, 'the last use of a client could not be recorded')
  })
}

function measure({ metrics }: App, request: Request, issuance: Issuance): void {
  const { grant_type, is_agent, act, broker_provider } = issuance
  if (broker_provider) metrics.count('core_upstream_token_issued_total', { provider: broker_provider })
  else metrics.count('core_tokens_issued_total', { grant_type })
  if (is_agent && !broker_provider) metrics.count('ext_agent_tokens_issued_total', { has_chain: String(Boolean(act)) })
  metrics.observe('core_token_issuance_duration_seconds', (performance.now() - request.startedMs) / 1000)
}
