// From what a grant decided to the answer: sign and commit at the same time, answer when both are done.
import type { App } from '../context.ts'
import { isRemote, type SigningKey } from '../crypto/pool.ts'
import type { Request } from '../http/message.ts'
import { DAY } from '../lib/time.ts'
import type { Client } from '../records/client.ts'
import type { Actor, Issuance } from '../records/issuance.ts'
import type { NewIssuance } from '../store/issuances.ts'
import { claimsOf, tokenType } from './access_token.ts'
import { type Commit, runCommit } from './commit.ts'
import type { Proof } from './dpop.ts'

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
  /** The token of a provider that is handed out instead of one of ours. */
  vended?: { provider: string; access_token: string; expires_in: number }
  /** Labels of the grant's own counter. */
  labels?: Record<string, string>
  /** Further members of the answer. */
  extra?: Record<string, string>
  /** What is committed with the record of the token; without it only that record. */
  commit?: Commit
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
  const key = a.vended ? undefined : app.keyring.current()
  const issuance = recordOf(request, a, now, key)
  const { access_token, refresh_token } = await (key ? sign(app, key, a, issuance) : handOut(app, a, issuance))
  metricsOf(app, request, issuance)
  noteUse(app, a.client, now)
  return {
    access_token,
    token_type: tokenType(issuance),
    expires_in: issuance.expires_at - now,
    ...(refresh_token ? { refresh_token } : {}),
    ...(a.scope ? { scope: a.scope } : {}),
    ...a.extra,
  }
}

type Tokens = Pick<TokenResponse, 'access_token' | 'refresh_token'>

async function sign(app: App, key: SigningKey, a: Authorization, issuance: NewIssuance): Promise<Tokens> {
  const signed = app.crypto.sign(key, claimsOf(issuance, app.config.server.issuer))
  if (isRemote(key)) await signed
  const [access_token, refresh_token] = await Promise.all([signed, runCommit(app, a.commit, issuance)])
  app.knownTokens.signed(access_token, issuance.issued_at)
  return { access_token, refresh_token }
}

/** What a provider gave is recorded as what we issue is: who has it, for whom, for what. The token itself is not. */
async function handOut(app: App, a: Authorization, issuance: NewIssuance): Promise<Tokens> {
  const refresh_token = await runCommit(app, a.commit, issuance)
  return { access_token: a.vended?.access_token as string, refresh_token }
}

// One literal, so that all records have one shape: this is made for every token.
const recordOf = (request: Request, a: Authorization, now: number, key: SigningKey | undefined): NewIssuance => ({
  id: request.id,
  grant_type: a.grant_type,
  client_id: a.client.client_id,
  sub: a.sub,
  resource: a.resource,
  scope: a.scope,
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
  use: a.proof?.use,
})

/** So that registrations nobody uses can be told from the others. Once a day, and nobody waits for it. */
function noteUse(app: App, { client_id, registration_source, last_used_at = 0 }: Client, now: number): void {
  if (registration_source === 'admin' || now - last_used_at < DAY) return
  app.store.touchClient({ client_id, now }).catch((error) => {
    app.log.warn({ err: error, client_id }, 'the use of a client could not be noted')
  })
}

function metricsOf({ metrics }: App, request: Request, issuance: Issuance): void {
  const { grant_type, is_agent, act, broker_provider } = issuance
  if (broker_provider) metrics.count('core_upstream_token_issued_total', { provider: broker_provider })
  else metrics.count('core_tokens_issued_total', { grant_type })
  if (is_agent && !broker_provider) metrics.count('ext_agent_tokens_issued_total', { has_chain: String(Boolean(act)) })
  metrics.observe('core_token_issuance_duration_seconds', (performance.now() - request.startedMs) / 1000)
}
