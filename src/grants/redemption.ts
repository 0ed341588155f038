// Redeems the code of a request that a user has approved: an authorization code or a device code. All checks are made before it is consumed.
import type { App } from '../context.ts'
import { OAuthError } from '../lib/error.ts'
import { newId } from '../lib/id.ts'
import type { Reason } from '../lib/reasons/index.ts'
import { newAuditEvent, sentBy } from '../oauth/audit.ts'
import { isPublic } from '../oauth/clients/client_metadata.ts'
import { standingOf } from '../oauth/clients/client_standing.ts'
import { mayAuditRefusal } from '../oauth/refusal_limit.ts'
import { type Commit, type CommitOutcome, ISSUED } from '../oauth/tokens/commit.ts'
import { checkBound } from '../oauth/tokens/dpop.ts'
import type { Authorization } from '../oauth/tokens/issue.ts'
import { checkCovered, scopeNames } from '../oauth/tokens/resource.ts'
import { decide } from '../oauth/tokens/rule.ts'
import { grantedDetails } from '../records/authorization_details.ts'
import type { AuthorizationRequest } from '../records/authorization_request.ts'
import type { Client } from '../records/client.ts'
import type { RequestedSignIn, SignIn } from '../records/sign_in.ts'
import type { TokenFamily } from '../records/token_family.ts'
import type { FoundCode } from '../store/tokens/tokens.ts'
import type { GrantInput } from './grant.ts'
import { type Decided, decidedOf, HELD_RULES, type Held } from './held.ts'
import { newRefreshToken } from './refresh_token.ts'

/** A kind of code, with its refusals. */
export interface CodeKind {
  readonly grant_type: string
  refuse(reason: Reason): OAuthError
  readonly outcomes: Readonly<Record<'redeemed' | 'used', CommitOutcome>>
  /** Whether a second use leaves the tokens of the first one valid: an authenticated client polls, and a notification may make it poll twice at the same time. */
  readonly keeps: boolean
}

/** A kind of code by the name of its grant and its name in error descriptions. */
export function codeKind(grant_type: string, title: string, keeps = false): CodeKind {
  const description = `the ${title} is not valid`
  // If another request was first, the store operation has already revoked the tokens of that request.
  const used: CommitOutcome = { refusal: { description, reason: 'code_reused' } }
  return {
    grant_type,
    keeps,
    refuse: (reason) => new OAuthError('invalid_grant', description, { reason }),
    outcomes: { redeemed: ISSUED, used },
  }
}

/** Decides on a code whose client and secret are verified. Throws the refusal. */
export async function redeemApproved(
  app: App,
  input: GrantInput,
  kind: CodeKind,
  found: FoundCode,
): Promise<Authorization> {
  const { form, client } = input
  const { request } = found
  if (request.consumed_at !== undefined) throw await reused(app, input, kind, request)
  if ((request.code_expires_at ?? 0) <= app.clock.now()) throw kind.refuse('code_expired')
  checkBound(request.dpop_jkt, input.proof)
  checkCovered(app, form.resource, request.resource)
  const { user_status, user_version, consent_revoked, consent_scope: consented } = found
  const { user_id: sub, sign_in } = request
  const facts: Held = {
    client,
    sub,
    user_version,
    proven: sign_in,
    uri: request.resource,
    names: scopeNames(request.scope),
    user_status,
    consent_revoked,
    consented,
    granted: { scope: request.scope },
    sign_in,
    scope: '',
    asked_details: form.authorization_details,
    held_details: grantedDetails(request.authorization_details),
    refuse: kind.refuse,
  }
  const decided = await decide(app, HELD_RULES, facts)
  const { identity } = decided
  if (identity?.id_token) await noteApplicationOf(app, client, request)
  return authorizationOf(app, input, kind, request, decidedOf(decided))
}

/** An application that wants to know when the session ends. It is recorded before the code is used: a session that has ended has no codes. */
async function noteApplicationOf({ store }: App, client: Client, request: AuthorizationRequest): Promise<void> {
  const { session_id, sign_in } = request
  if (client.backchannel_logout_uri === undefined || session_id === undefined || sign_in?.sid === undefined) return
  await store.noteApplication({ id: newId(), session_id, client_id: client.client_id, sid: sign_in.sid })
}

/** The code arrives a second time: everything that was issued for the first use is revoked (RFC 6749 §4.1.2). */
async function reused(
  app: App,
  { request, client }: GrantInput,
  { refuse, keeps }: CodeKind,
  code: AuthorizationRequest,
): Promise<OAuthError> {
  if (keeps) return refuse('code_reused')
  const { client_id } = client
  const event = newAuditEvent(app, {
    action: 'auth_code_reused',
    actor_id: code.user_id,
    client_id,
    ...sentBy(request),
  })
  const revocation = { authorization_id: code.id, now: app.clock.now() }
  if (standingOf(client) === 'operator' || mayAuditRefusal(app, request, client_id, 'auth_code_reused'))
    await app.store.recorded('revokeRedemption', revocation, event)
  else await app.store.revokeRedemption(revocation)
  return refuse('code_reused')
}

/** Refreshed ID tokens have no nonce (OpenID Connect Core §12.2). */
const ofFamily = ({ nonce: _, required: __, ...sign_in }: RequestedSignIn): SignIn => sign_in

function authorizationOf(
  app: App,
  input: GrantInput,
  { grant_type, outcomes, keeps }: CodeKind,
  request: AuthorizationRequest,
  { resource, scope, authorization_details, about, identity }: Decided,
): Authorization {
  const now = app.clock.now()
  const { client_id, user_id, asked_scope, consent_id, sign_in } = request
  const family: TokenFamily = {
    id: newId(),
    client_id,
    user_id,
    scope: request.scope,
    asked_scope: asked_scope === request.scope ? undefined : asked_scope,
    resource: request.resource,
    authorization_details: grantedDetails(request.authorization_details),
    consent_id,
    authorization_id: request.id,
    // A public client has no secret: only the key protects a stolen refresh token from use (RFC 9449 §5).
    jkt: isPublic(input.client) ? input.proof?.jkt : undefined,
    sign_in: sign_in && ofFamily(sign_in),
    created_at: now,
  }
  const mayRefresh = input.client.grant_types.includes('refresh_token')
  const refresh = mayRefresh ? newRefreshToken(app, family.id, now) : undefined
  const commit: Commit = {
    op: 'redeemCode',
    input: { family, authorization_details: request.authorization_details, refresh: refresh?.stored, keeps, now },
    outcomes,
    refresh_token: refresh?.value,
  }
  return {
    grant_type,
    client: input.client,
    sub: user_id,
    resource,
    scope,
    authorization_details,
    about,
    identity,
    lifetime: app.config.dcr.default_token_expiry,
    family_id: family.id,
    consent_id,
    jkt: input.proof?.jkt,
    commit,
  }
}
