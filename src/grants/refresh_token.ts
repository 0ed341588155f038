// The refresh token grant (RFC 6749 §6) with rotation: every use replaces the token. A second use revokes the family. Within
// oauth.refresh_grace a second use is a retry instead, which returns the newest refresh token.
import type { App } from '../context.ts'
import { OAuthError } from '../lib/error.ts'
import { type Bearer, bearerOf, equalSecrets, newBearer, newId, parseBearer } from '../lib/id.ts'
import type { Reason } from '../lib/reasons/index.ts'
import { newAuditEvent, sentBy } from '../oauth/audit.ts'
import { type Commit, type CommitOutcome, ISSUED, type TokenRequest } from '../oauth/tokens/commit.ts'
import { checkBound } from '../oauth/tokens/dpop.ts'
import type { Authorization } from '../oauth/tokens/issue.ts'
import { checkCovered, scopeNames } from '../oauth/tokens/resource.ts'
import { decide } from '../oauth/tokens/rule.ts'
import { accessRefused, isAccessRefused } from '../oauth/tokens/subject_access.ts'
import type { RefreshToken, TokenFamily } from '../records/token_family.ts'
import type { Grant, GrantInput } from './grant.ts'
import { type Decided, decidedOf, HELD_RULES, type Held } from './held.ts'

export const REFRESH_TOKEN_PREFIX = 'rt'

const INVALID = 'the refresh token is not valid'
const refuse = (reason: Reason) => new OAuthError('invalid_grant', INVALID, { reason })

/** Either the client or an attacker used the token first. The family is revoked (RFC 9700 §4.14.2); that is counted and recorded once. */
const REUSED: CommitOutcome = {
  counter: 'core_refresh_token_reuse_total',
  refusal: { description: INVALID, reason: 'refresh_token_reused' },
}
const REVOKED: CommitOutcome = { refusal: { description: INVALID, reason: 'family_revoked' } }

export const refreshToken = {
  type: 'refresh_token',
  name: 'refresh_token',
  clients: 'any',
  denied: 'token_refresh_denied',
  enabled: () => true,
  rules: HELD_RULES,
  lifetime: (config) => config.dcr.default_token_expiry,
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
    const isRetry = isWithinGrace(app, token)
    if (token.consumed_at !== undefined && !isRetry) {
      await revokeReused(app, input, family)
      throw refuse('refresh_token_reused')
    }
    // Before family_revoked: the end of a user's sign-ins is not the reason but its consequence.
    if (found.user_status !== 'active') throw refuse('user_inactive')
    if (family.revoked_at !== undefined) throw refuse('family_revoked')
    if (!isRetry && token.expires_at <= app.clock.now()) throw refuse('refresh_token_expired')
    checkBound(family.jkt, input.proof)
    checkCovered(app, form.resource, family.resource)
    const { user_status, user_version, consent_revoked, consent_scope: consented } = found
    const { user_id: sub, sign_in } = family
    const facts: Held = {
      client,
      sub,
      user_version,
      proven: sign_in,
      uri: family.resource,
      names: scopeNames(family.scope),
      asked: form.scope,
      user_status,
      consent_revoked,
      consented,
      granted: family,
      sign_in,
      scope: '',
      refuse,
      asked_details: form.authorization_details,
      held_details: family.authorization_details,
    }
    try {
      return rotation(app, input, bearer, family, decidedOf(await decide(app, HELD_RULES, facts)))
    } catch (error) {
      throw isAccessRefused(error) ? await endRefused(app, input, family, error) : error
    }
  },
} satisfies Grant

/** Revokes the family of a token that was used before. */
async function revokeReused(app: App, { request, client }: GrantInput, { id, user_id }: TokenFamily): Promise<void> {
  const event = newAuditEvent(app, {
    action: 'refresh_token_reused',
    actor_id: user_id,
    client_id: client.client_id,
    ...sentBy(request),
    detail: { family: id },
  })
  const end = { id, reason: 'refresh_reuse', now: app.clock.now() } as const
  const ended = await app.store.recorded('revokeFamily', end, event)
  if (ended > 0) app.metrics.count('core_refresh_token_reuse_total')
}

/** Revokes the family of a user who may no longer use the resource. Returns the refusal. Its event is recorded with the revocation. */
async function endRefused(
  app: App,
  { request, client }: GrantInput,
  { id }: TokenFamily,
  refusal: OAuthError,
): Promise<OAuthError> {
  const end = { id, reason: 'access_refused', now: app.clock.now() } as const
  const ended = await app.store.recorded('revokeFamily', end, accessRefused(app, request, client.client_id, refusal))
  return ended > 0 ? refusal.with({ recorded: true }) : refusal
}

/** A token that was consumed after this time (epoch seconds) may be retried; undefined when retries are disabled. */
const retriedSince = ({ config, clock }: App): number | undefined =>
  config.oauth.refresh_grace > 0 ? clock.now() - config.oauth.refresh_grace : undefined

const isWithinGrace = (app: App, { consumed_at, next_id }: RefreshToken): boolean =>
  consumed_at !== undefined && next_id !== undefined && consumed_at > (retriedSince(app) ?? consumed_at)

/** A new refresh token of a family: its value for the client, and its record. With `replaced` it is derived from that token. */
export function newRefreshToken(app: App, family_id: string, now: number, replaced?: Bearer) {
  const { value, id, hash } = replaced ? successor(app, replaced, newId()) : newBearer(REFRESH_TOKEN_PREFIX)
  const stored: RefreshToken = { id, family_id, hash, expires_at: now + app.config.dcr.default_refresh_expiry }
  return { value, stored }
}

/** Derives the refresh token that replaces another one. Without the secret it cannot be derived from the database or the previous token. */
const successor = ({ successors }: App, { value }: Bearer, id: string): Bearer =>
  bearerOf(REFRESH_TOKEN_PREFIX, id, successors.mac(PURPOSE, `${value} ${id}`))
const PURPOSE = 'refresh token'

/** The successor with this hash, which any of the session secrets may have derived. Undefined when none of them did. */
const successorWith = ({ successors }: App, { value }: Bearer, id: string, hash: string): Bearer | undefined =>
  successors
    .macs(PURPOSE, `${value} ${id}`)
    .map((mac) => bearerOf(REFRESH_TOKEN_PREFIX, id, mac))
    .find((each) => equalSecrets(each.hash, hash))

function rotation(
  app: App,
  input: GrantInput,
  used: Bearer,
  family: TokenFamily,
  { resource, scope, authorization_details, about, identity }: Decided,
): Authorization {
  const now = app.clock.now()
  const retried_since = retriedSince(app)
  const { value, stored } = newRefreshToken(app, family.id, now, retried_since === undefined ? undefined : used)
  const commit: Commit = {
    op: 'rotateRefreshToken',
    input: { used: used.id, next: stored, retried_since, now },
    outcomes: {
      rotated: ISSUED,
      retried: { next: { decide: answerRetry, sent: used } },
      reused: REUSED,
      revoked: REVOKED,
    },
    refresh_token: value,
  }
  return {
    grant_type: 'refresh_token',
    client: input.client,
    sub: family.user_id,
    resource,
    scope,
    authorization_details,
    about,
    identity,
    lifetime: app.config.dcr.default_token_expiry,
    family_id: family.id,
    consent_id: family.consent_id,
    jkt: input.proof?.jkt,
    commit,
  }
}

/** The commit for a retry. Its refresh token is the newest of the family, derived from the token that was sent. */
async function answerRetry(app: App, sent: Bearer, { family_id = '' }: TokenRequest): Promise<Commit> {
  let newest = sent
  for (const { id, hash, expires_at } of await app.store.findSuccessors({ id: sent.id })) {
    const next = successorWith(app, newest, id, hash)
    // The stored token was derived with a session secret that was removed. The family is not revoked, and the user must sign in again.
    if (!next) throw refuse('refresh_retry_not_derivable')
    newest = next
    if (expires_at <= app.clock.now()) throw refuse('refresh_token_expired')
  }
  return {
    op: 'recordRetry',
    input: { family_id },
    outcomes: { recorded: { counter: 'ext_refresh_retries_total' }, revoked: REVOKED },
    refresh_token: newest.value,
  }
}
