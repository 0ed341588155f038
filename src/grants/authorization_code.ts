// The authorization code grant (RFC 6749 §4.1.3) with PKCE (RFC 7636). All checks are made before the code is consumed.
import type { App } from '../context.ts'
import type { Params } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { digest, equalSecrets, newId, parseBearer } from '../lib/id.ts'
import type { AuditEntry } from '../oauth/audit.ts'
import { isPublic } from '../oauth/client_metadata.ts'
import { type Commit, type CommitOutcome, ISSUED, noteOutcome } from '../oauth/commit.ts'
import { checkBound } from '../oauth/dpop.ts'
import { checkCovered, remainingScope, resolveMint, scopeNames } from '../oauth/resource.ts'
import { accessOfGrant } from '../oauth/subject_access.ts'
import type { AuthorizationRequest } from '../records/authorization_request.ts'
import type { Client } from '../records/client.ts'
import type { TokenFamily } from '../records/token_family.ts'
import type { Grant, GrantInput } from './grant.ts'
import { newRefreshToken } from './refresh_token.ts'

export const CODE_PREFIX = 'ac'
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/

const INVALID = 'the authorization code is not valid'
const refuse = (reason: string) => new OAuthError('invalid_grant', INVALID, { reason })

/** The code and its verifier arrive a second time: everything that was issued for the first use is revoked (RFC 6749 §4.1.2). */
const REUSED: CommitOutcome = {
  event: ({ id, ip, client_id, sub }): AuditEntry<'auth_code_reused'> => ({
    action: 'auth_code_reused',
    actor_id: sub,
    client_id,
    ip,
    request_id: id,
  }),
  refusal: { description: INVALID, reason: 'code_reused' },
}
/** Where another request was first, the store operation has already revoked what that one was given. */
const OUTCOMES = { redeemed: ISSUED, used: REUSED }

export const authorizationCode = {
  type: 'authorization_code',
  name: 'authorization_code',
  clients: 'any',
  denied: 'token_issue_denied',
  enabled: () => true,

  async run(app, input) {
    const { form, client } = input
    if (form.code === undefined) throw missing('code')
    if (form.code_verifier === undefined) throw missing('code_verifier')
    const code = parseBearer(CODE_PREFIX, form.code)
    const found = code && (await app.store.findCode({ id: code.id }))
    if (!found || !equalSecrets(code.hash, found.request.code_hash ?? '')) throw refuse('unknown_code')
    const { request } = found
    checkProof(form, client, request)
    if (request.consumed_at !== undefined) throw await reused(app, input, request)
    if ((request.code_expires_at ?? 0) <= app.clock.now()) throw refuse('code_expired')
    checkBound(request.dpop_jkt, input.proof)
    checkCovered(app, form.resource, request.resource)
    if (found.user_status !== 'active') throw refuse('user_inactive')
    if (found.consent_revoked) throw refuse('consent_revoked')
    const resource = request.resource === undefined ? undefined : await resolveMint(app, request.resource)
    const granted = scopeNames(request.scope)
    const { user_version, consent_scope: consented } = found
    const subject = { sub: request.user_id, client_id: client.client_id, user_version }
    const { refusal, about, scope: allowed } = await accessOfGrant(app, resource, subject, granted)
    if (refusal) throw refusal
    const scope = remainingScope(granted, { client, resource, consented, allowed })
    return { ...authorizationOf(app, input, request), resource, scope, about }
  },
} satisfies Grant

const missing = (name: string) => new OAuthError('invalid_request', `${name} is missing`, { reason: `missing_${name}` })

/** Checks client, redirect_uri and PKCE verifier of the code. Throws invalid_grant. */
function checkProof(form: Params, client: Client, request: AuthorizationRequest): void {
  if (client.client_id !== request.client_id) throw refuse('code_of_another_client')
  if (form.redirect_uri !== undefined ? form.redirect_uri !== request.redirect_uri : request.redirect_uri_sent)
    throw refuse('redirect_uri_mismatch')
  const verifier = form.code_verifier ?? ''
  if (!VERIFIER.test(verifier) || !equalSecrets(digest(verifier), request.code_challenge)) throw refuse('pkce_mismatch')
}

async function reused(app: App, { request, client }: GrantInput, code: AuthorizationRequest): Promise<OAuthError> {
  await app.store.revokeRedemption({ authorization_id: code.id, now: app.clock.now() })
  const { id, remote: ip } = request
  await noteOutcome(app, REUSED, { id, ip, client_id: client.client_id, sub: code.user_id })
  return refuse('code_reused')
}

function authorizationOf(app: App, input: GrantInput, request: AuthorizationRequest) {
  const now = app.clock.now()
  const { client_id, user_id, scope, asked_scope, resource, consent_id } = request
  const family: TokenFamily = {
    id: newId(),
    client_id,
    user_id,
    scope,
    asked_scope: asked_scope === scope ? undefined : asked_scope,
    resource,
    consent_id,
    authorization_id: request.id,
    // A public client has no secret: only the key protects a stolen refresh token from use (RFC 9449 §5).
    jkt: isPublic(input.client) ? input.proof?.jkt : undefined,
    created_at: now,
  }
  const mayRefresh = input.client.grant_types.includes('refresh_token')
  const refresh = mayRefresh ? newRefreshToken(app, family.id, now) : undefined
  const commit: Commit = {
    op: 'redeemCode',
    input: { family, refresh: refresh?.stored, now },
    outcomes: OUTCOMES,
    refresh_token: refresh?.value,
  }
  return {
    grant_type: 'authorization_code',
    client: input.client,
    sub: user_id,
    lifetime: app.config.dcr.default_token_expiry,
    family_id: family.id,
    consent_id,
    jkt: input.proof?.jkt,
    commit,
  }
}
