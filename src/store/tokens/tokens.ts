// Operations on authorization requests, codes, families and refresh tokens. Each consumption is one compare-and-set.
import { newId } from '../../lib/id.ts'
import type { AuditEvent } from '../../records/audit_event.ts'
import type { AskedDetails } from '../../records/authorization_details.ts'
import type { AuthorizationRequest } from '../../records/authorization_request.ts'
import type { Consent } from '../../records/consent.ts'
import type { RefreshToken, TokenFamily } from '../../records/token_family.ts'
import { change, changed, forUpdate, idBytes, maybeEncoded, maybeNum, maybeStr, type Op, one, type Row } from '../op.ts'
import { recordAudit } from './audit_trail.ts'
import { type EndReason, endFamilies } from './families.ts'
import { type NewIssuance, recordIssuance } from './issuances.ts'
import { isRetried } from './refresh_retries.ts'
import { CONSENTS, FAMILIES, REFRESH_TOKENS, REQUESTS } from './token_rows.ts'

/** Records a request that waits for the decision of its user. A request that needs no decision is a code at once. */
export const createAuthorizationRequest = (request: AuthorizationRequest) => REQUESTS.add(request)

/** A request in any state. */
export const findAuthorizationRequest = ({ id }: { id: string }) => REQUESTS.find`WHERE id = ${idBytes(id)}`

/** Denies a request. Returns whether it was undecided. */
export function* denyAuthorizationRequest({ id, now }: { id: string; now: number }): Op<boolean> {
  return yield* changed`UPDATE authorization_requests SET client = NULL, denied_at = ${now}, expires_at = ${now}
    WHERE id = ${idBytes(id)} AND code_hash IS NULL AND denied_at IS NULL`
}

/** Ends an unused code: its request is undecided again. Returns whether there was one. */
export const withdrawCode = ({ id }: { id: string }) =>
  changed`UPDATE authorization_requests SET code_hash = NULL, code_expires_at = NULL WHERE id = ${idBytes(id)}
    AND code_hash IS NOT NULL AND consumed_at IS NULL`

export interface Approval {
  id: string
  /** The session in which it is decided. */
  session_id: string
  scope: string
  authorization_details?: AskedDetails
  code_hash: string
  code_expires_at: number
  /** Stored when the request names a resource. Its scope replaces the scope of the previous consent. */
  consent?: NewConsent
  now: number
}
/** Records the user's consent and turns the request into a code, in one transaction. False when the request was decided before. */
export function* approveAuthorizationRequest(a: Approval): Op<boolean> {
  const taken = yield* change`UPDATE authorization_requests SET client = NULL, session_id = ${idBytes(a.session_id)},
      scope = ${a.scope}, authorization_details = ${maybeEncoded(a.authorization_details)},
      code_hash = ${idBytes(a.code_hash)}, code_expires_at = ${a.code_expires_at}
    WHERE id = ${idBytes(a.id)} AND code_hash IS NULL AND denied_at IS NULL AND expires_at > ${a.now}`
  if (taken === 0) return false
  // After the check: a request that was decided before, or has expired, must not change the consent of the user.
  if (a.consent) {
    const consentId = yield* saveConsent(a.consent, a.now)
    yield* change`UPDATE authorization_requests SET consent_id = ${consentId} WHERE id = ${idBytes(a.id)}`
  }
  return true
}

type NewConsent = Pick<Consent, 'id' | 'user_id' | 'client_id' | 'resource_id' | 'scope' | 'redirect_hosts'>

/** Updates the scope of the consent in force, or creates a consent. */
function* saveConsent(consent: NewConsent, now: number): Op<Buffer> {
  const row = yield* CONSENTS.save(
    { ...consent, created_at: now, updated_at: now },
    'ON CONFLICT (user_id, client_id, resource_id) WHERE revoked_at IS NULL DO UPDATE SET scope = excluded.scope, redirect_hosts = excluded.redirect_hosts, updated_at = excluded.updated_at RETURNING id',
  )
  return row?.id as Buffer
}

/** The state of the user and the consent of a code or refresh token. */
interface Standing {
  user_status?: string
  user_version?: number
  consent_revoked: boolean
  /** The current scope of the consent; undefined without a consent. */
  consent_scope?: string
}
const readStanding = (row: Row): Standing => ({
  user_status: maybeStr(row.user_status),
  user_version: maybeNum(row.user_version),
  consent_revoked: row.consent_revoked_at !== null,
  consent_scope: maybeStr(row.consent_scope),
})

/** The columns and joins for readStanding(). */
const STANDING =
  'u.status AS user_status, u.version AS user_version, c.revoked_at AS consent_revoked_at, c.scope AS consent_scope'
const standingOf = (alias: string) =>
  `LEFT JOIN users u ON u.id = ${alias}.user_id LEFT JOIN consent_grants c ON c.id = ${alias}.consent_id`
const FIND_CODE = `SELECT ${REQUESTS.as('a').columns}, ${STANDING} FROM authorization_requests a
  ${standingOf('a')} WHERE a.id = ? AND a.code_hash IS NOT NULL`

export interface FoundCode extends Standing {
  request: AuthorizationRequest
}
/** A code in any state, with the state of its user and consent. */
export function* findCode({ id }: { id: string }): Op<FoundCode | undefined> {
  const row = yield* one({ sql: FIND_CODE, params: [idBytes(id)] })
  return row && { request: REQUESTS.read(row), ...readStanding(row) }
}

/** Consumes a code and records the tokens that are issued for it. `used`: another request has consumed the code, or the person withdrew or changed what was allowed. */
export function* redeemCode(r: {
  family: TokenFamily
  authorization_details?: AskedDetails
  refresh?: RefreshToken
  /** Whether a second use leaves the tokens of the first one valid. */
  keeps?: boolean
  issuance: NewIssuance
  now: number
}): Op<'redeemed' | 'used'> {
  const { family } = r
  const taken = yield* change`UPDATE authorization_requests SET consumed_at = ${r.now}
    WHERE id = ${idBytes(family.authorization_id)} AND scope = ${family.scope}
    AND COALESCE(authorization_details, '') = ${maybeEncoded(r.authorization_details) ?? ''} AND code_hash IS NOT NULL
    AND consumed_at IS NULL`
  if (taken === 0 && r.keeps) return 'used'
  if (taken === 0) {
    yield* revokeRedemption({ authorization_id: family.authorization_id, now: r.now })
    yield* recordReuse('auth_code_reused', r.issuance, {}, r.now)
    return 'used'
  }
  yield* FAMILIES.add(family)
  if (r.refresh) yield* REFRESH_TOKENS.add(r.refresh)
  yield* recordIssuance(r.issuance)
  return 'redeemed'
}

/** Revokes the tokens that were issued for the first use of a replayed code (RFC 6749 §4.1.2). */
export function* revokeRedemption({ authorization_id, now }: { authorization_id: string; now: number }): Op<number> {
  return yield* endFamilies('authorization_id', idBytes(authorization_id), 'code_reuse', now)
}

const TOKEN = REFRESH_TOKENS.as('r', 'token_')
const FIND_REFRESH_TOKEN = `SELECT ${TOKEN.columns}, ${FAMILIES.as('f').columns}, ${STANDING}
  FROM refresh_tokens r JOIN token_families f ON f.id = r.family_id ${standingOf('f')} WHERE r.id = ?`

export interface FoundRefreshToken extends Standing {
  token: RefreshToken
  family: TokenFamily
}
/** A refresh token in any state, with its family and the state of its user and consent. */
export function* findRefreshToken({ id }: { id: string }): Op<FoundRefreshToken | undefined> {
  const row = yield* one({ sql: FIND_REFRESH_TOKEN, params: [idBytes(id)] })
  return row && { token: TOKEN.read(row), family: FAMILIES.read(row), ...readStanding(row) }
}

/**
 * Replaces a refresh token by the next one of its family. `reused`: it was consumed before, so the family is revoked. `retried`: it was
 * consumed after `retried_since` and its successor can be derived; nothing is changed.
 */
export function* rotateRefreshToken(r: {
  used: string
  next: RefreshToken
  /** Set when retries are answered (`oauth.refresh_grace`): a token that was consumed after this time (epoch seconds) may be retried. */
  retried_since?: number
  issuance: NewIssuance
  now: number
}): Op<'rotated' | 'retried' | 'reused' | 'revoked'> {
  const family = yield* forUpdate`SELECT revoked_at FROM token_families WHERE id = ${idBytes(r.next.family_id)}`
  if (!family || family.revoked_at !== null) return 'revoked'
  const next_id = r.retried_since === undefined ? null : idBytes(r.next.id)
  const taken =
    yield* change`UPDATE refresh_tokens SET consumed_at = ${r.now}, next_id = ${next_id} WHERE id = ${idBytes(r.used)} AND consumed_at IS NULL`
  if (taken === 0) {
    if (r.retried_since !== undefined && (yield* isRetried(r.used, r.retried_since))) return 'retried'
    yield* revokeFamily({ id: r.next.family_id, reason: 'refresh_reuse', now: r.now })
    yield* recordReuse('refresh_token_reused', r.issuance, { family: r.next.family_id }, r.now)
    return 'reused'
  }
  yield* REFRESH_TOKENS.add(r.next)
  yield* recordIssuance(r.issuance)
  return 'rotated'
}

/** Revokes a family with its refresh tokens and access tokens. Returns 1 when it was live. */
export function* revokeFamily({ id, reason, now }: { id: string; reason: EndReason; now: number }): Op<number> {
  return yield* endFamilies('id', idBytes(id), reason, now)
}

/**
 * Records that a code or refresh token was used twice, in the transaction that revokes its tokens. The event is made here, because a token
 * request that is not refused needs none.
 */
function* recordReuse(
  action: 'auth_code_reused' | 'refresh_token_reused',
  { id: request_id, sub: actor_id, client_id, ip }: NewIssuance,
  detail: AuditEvent['detail'],
  created_at: number,
): Op<void> {
  yield* recordAudit({ id: newId(), action, actor_id, client_id, ip, request_id, detail, created_at })
}
