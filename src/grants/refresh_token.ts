// The refresh token grant (RFC 6749 §6) with rotation: every use replaces the token, a second use ends the family.
import type { App } from '../app.ts'
import { OAuthError } from '../lib/error.ts'
import { equalSecrets, newBearer, parseBearer } from '../lib/id.ts'
import { audit, sentBy } from '../oauth/audit.ts'
import { checkBound } from '../oauth/dpop.ts'
import { checkCovered, checkWithin, parseScope, remainingScope, scopeNames } from '../oauth/resource.ts'
import type { Family, RefreshToken } from '../oauth/types.ts'
import type { NewIssuance } from '../store/issuances.ts'
import type { Grant, GrantInput } from './index.ts'

export const REFRESH_TOKEN_PREFIX = 'rt'

const refuse = (reason: string) => new OAuthError('invalid_grant', 'the refresh token is not valid', { reason })

export const refreshToken = {
  type: 'refresh_token',
  name: 'refresh_token',
  clients: 'any',
  denied: 'token_refresh_denied',
  enabled: () => true,
  counters: { issued: 'core_tokens_refreshed_total' },

  async run(app, input) {
    const { form, client } = input
    if (form.refresh_token === undefined)
      throw new OAuthError('invalid_request', 'refresh_token is missing', { reason: 'missing_refresh_token' })
    const bearer = parseBearer(REFRESH_TOKEN_PREFIX, form.refresh_token)
    const found = bearer && (await app.store.findRefreshToken({ id: bearer.id }))
    if (!found || !equalSecrets(bearer.hash, found.token.hash)) throw refuse('unknown_refresh_token')
    const { token, family } = found
    if (client.client_id !== family.client_id) throw refuse('refresh_token_of_another_client')
    if (token.consumed_at !== undefined) {
      const ended = await app.store.revokeFamily({ id: family.id, reason: 'refresh_reuse', now: app.clock.now() })
      if (ended > 0) await noteReuse(app, input, family)
      throw refuse('refresh_token_reused')
    }
    if (family.revoked_at !== undefined) throw refuse('family_revoked')
    if (token.expires_at <= app.clock.now()) throw refuse('refresh_token_expired')
    if (found.user_status !== 'active') throw refuse('user_inactive')
    if (found.consent_revoked) throw refuse('consent_revoked')
    checkBound(family.jkt, input.proof)
    checkCovered(form.resource, family.resource)
    const wanted = form.scope === undefined ? scopeNames(family.scope) : narrowed(form.scope, family.scope)
    const scope = await remainingScope(app, wanted, {
      client,
      resource: family.resource,
      consented: found.consent_scope,
    })
    return { ...rotation(app, input, token, family), scope }
  },
} satisfies Grant

function narrowed(requested: string, granted: string): string[] {
  const names = parseScope(requested)
  checkWithin(names, scopeNames(granted), 'beyond_granted_scope')
  return names
}

/** A refresh token of a family: what the client holds, and what is stored of it. */
export function newRefreshToken(app: App, family_id: string, now: number): { value: string; stored: RefreshToken } {
  const { value, id, hash } = newBearer(REFRESH_TOKEN_PREFIX)
  return { value, stored: { id, family_id, hash, expires_at: now + app.config.dcr.default_refresh_expiry } }
}

function rotation(app: App, input: GrantInput, token: RefreshToken, family: Family) {
  const now = app.clock.now()
  const { value, stored } = newRefreshToken(app, family.id, now)
  return {
    grant_type: 'refresh_token',
    client: input.client,
    sub: family.user_id,
    resource: family.resource,
    lifetime: app.config.dcr.default_token_expiry,
    family_id: family.id,
    consent_id: family.consent_id,
    refresh_token: value,
    jkt: input.proof?.jkt,
    proof: input.proof,
    async commit(issuance: NewIssuance) {
      const outcome = await app.store.rotateRefreshToken({ used: token.id, next: stored, issuance, now })
      if (outcome === 'rotated') return
      if (outcome === 'reused') await noteReuse(app, input, family)
      throw refuse(outcome === 'reused' ? 'refresh_token_reused' : 'family_revoked')
    },
  }
}

/** Thief or owner, nobody can tell: the family has ended (RFC 9700 §4.14.2), which is counted and recorded once. */
async function noteReuse(app: App, { request, client }: GrantInput, family: Family): Promise<void> {
  app.metrics.count('core_refresh_token_reuse_total')
  await audit(app, {
    action: 'refresh_token_reused',
    actor_id: family.user_id,
    client_id: client.client_id,
    ...sentBy(request),
    detail: { family: family.id },
  })
}
