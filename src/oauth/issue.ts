// From what a grant decided to the answer: sign and commit at the same time, answer when both are done.
import type { App } from '../app.ts'
import { isRemote } from '../crypto/pool.ts'
import type { Request } from '../http/message.ts'
import type { NewIssuance } from '../store/issuances.ts'
import { claimsOf, tokenType } from './access_token.ts'
import { isUsedBefore, type Proof, replayedProof } from './dpop.ts'
import type { Actor, Client, Issuance } from './types.ts'

/** What a grant decided. Says nothing about JWTs, rows, metrics or HTTP. */
export interface Authorization {
  /** Short name of the grant. */
  grant_type: string
  client: Client
  sub: string
  resource?: string
  scope: string
  /** Seconds that the token lives. */
  lifetime: number
  /** Moment (epoch seconds) that it does not outlive. */
  not_after?: number
  /** Thumbprint of the key that the token is bound to. */
  jkt?: string
  /** The proof that is used up. */
  proof?: Proof
  act?: Actor
  family_id?: string
  consent_id?: string
  parent_id?: string
  refresh_token?: string
  /** The token of a provider that is handed out instead of one of ours. */
  vended?: { provider: string; access_token: string; expires_in: number }
  /** Labels of the grant's own counter. */
  labels?: Record<string, string>
  /** Further members of the answer. */
  extra?: Record<string, string>
  /** What must be committed with the token; without it only the issuance is recorded. Throws when another request was first. */
  commit?(issuance: NewIssuance): Promise<void>
}

/** A token response (RFC 6749 §5.1). */
export interface TokenResponse {
  access_token: string
  token_type: 'Bearer' | 'DPoP'
  expires_in: number
  refresh_token?: string
  scope?: string
}

/** Issues the token of an authorization; its jti is the id of the request. Nothing is answered before it is committed. */
export async function issue(app: App, request: Request, a: Authorization): Promise<TokenResponse> {
  const now = app.clock.now()
  const { access_token, issuance } = a.vended
    ? await handOut(app, request, a, a.vended, now)
    : await sign(app, request, a, now)
  metricsOf(app, request, issuance)
  noteUse(app, a.client, now)
  return {
    access_token,
    token_type: tokenType(issuance),
    expires_in: issuance.expires_at - now,
    ...(a.refresh_token ? { refresh_token: a.refresh_token } : {}),
    ...(a.scope ? { scope: a.scope } : {}),
    ...a.extra,
  }
}

interface Issued {
  access_token: string
  issuance: NewIssuance
}

async function sign(app: App, request: Request, a: Authorization, now: number): Promise<Issued> {
  const key = app.keyring.current()
  const expires_at = Math.min(now + Math.floor(a.lifetime), a.not_after ?? Number.POSITIVE_INFINITY)
  const issuance = { ...recordOf(request, a, now), expires_at, kid: key.kid }
  const signed = app.crypto.sign(key, JSON.stringify(claimsOf(issuance, app.config.server.issuer)))
  if (isRemote(key)) await signed
  const [access_token] = await Promise.all([signed, commit(app, a, issuance)])
  return { access_token, issuance }
}

/** What a provider gave is recorded as what we issue is: who has it, for whom, for what. The token itself is not. */
async function handOut(
  app: App,
  request: Request,
  a: Authorization,
  { provider, access_token, expires_in }: NonNullable<Authorization['vended']>,
  now: number,
): Promise<Issued> {
  const issuance = {
    ...recordOf(request, a, now),
    expires_at: now + expires_in,
    kid: '',
    broker_provider: provider,
  }
  await commit(app, a, issuance)
  return { access_token, issuance }
}

const recordOf = (request: Request, a: Authorization, now: number) => ({
  id: request.id,
  grant_type: a.grant_type,
  client_id: a.client.client_id,
  sub: a.sub,
  resource: a.resource,
  scope: a.scope,
  issued_at: now,
  jkt: a.jkt,
  act: a.act,
  is_agent: a.client.is_agent,
  family_id: a.family_id,
  consent_id: a.consent_id,
  parent_id: a.parent_id,
  ip: request.remote,
  use: a.proof?.use,
})

const DAY = 86_400

/** So that registrations nobody uses can be told from the others. Once a day, and nobody waits for it. */
function noteUse(app: App, { client_id, registration_source, last_used_at = 0 }: Client, now: number): void {
  if (registration_source === 'admin' || now - last_used_at < DAY) return
  app.store.touchClient({ client_id, now }).catch((error) => {
    app.log.warn({ err: error, client_id }, 'the use of a client could not be noted')
  })
}

async function commit(app: App, a: Authorization, issuance: NewIssuance): Promise<void> {
  try {
    await (a.commit ? a.commit(issuance) : app.store.recordIssuance(issuance))
  } catch (error) {
    throw isUsedBefore(error) ? replayedProof() : error
  }
}

function metricsOf({ metrics }: App, request: Request, issuance: Issuance): void {
  const { grant_type, is_agent, act, broker_provider } = issuance
  if (broker_provider) metrics.count('core_upstream_token_issued_total', { provider: broker_provider })
  else metrics.count('core_tokens_issued_total', { grant_type })
  if (is_agent && !broker_provider) metrics.count('ext_agent_tokens_issued_total', { has_chain: String(Boolean(act)) })
  metrics.observe('core_token_issuance_duration_seconds', (performance.now() - request.startedMs) / 1000)
}
