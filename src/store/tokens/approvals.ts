// Operations on approvals (CIBA): polled requests to a person whom the client names, and who decides without a code.
import type { AuthorizationRequest } from '../../records/authorization_request.ts'
import type { ApprovalRequest, ApprovalState, PolledRequest } from '../../records/polled_request.ts'
import {
  type Condition,
  change,
  changed,
  forUpdate,
  idBytes,
  is,
  num,
  type Op,
  one,
  orNull,
  raw,
  type SqlValue,
  selectNumber,
  where,
} from '../op.ts'
import {
  approvePolledRequest,
  claimPolledRequest,
  createPolledRequest,
  lockUndecided,
  type NewPolledRequest,
  POLLED,
} from './polled_requests.ts'
import type { Approval } from './tokens.ts'

/** A polled request that is for an approval. */
export type PolledApproval = PolledRequest & { approval: ApprovalRequest }
/** The requests for approvals of a SELECT that ends so. */
const list = (ending: TemplateStringsArray, ...values: SqlValue[]) =>
  POLLED.list(ending, ...values) as Op<PolledApproval[]>

/** What a client may ask of one person: requests that are open at once, and requests that the person denied within some seconds. */
export interface ApprovalBounds {
  open: number
  denied: number
  within: number
}

/** Records a request. Returns 0, or the seconds until its person may be asked by this client again. Throws when its proof or assertion was used before. */
export function* createApproval({
  bounds,
  ...r
}: NewPolledRequest & { approval: ApprovalRequest; bounds: ApprovalBounds }): Op<number> {
  const now = r.created_at
  // Requests of a client wait for each other here: those that arrive at the same time cannot exceed the bounds.
  yield* forUpdate`SELECT version FROM clients WHERE client_id = ${r.client_id}`
  const wait = Math.max(
    yield* waitFor('expires_at', bounds.open, ['decision IS NULL AND expires_at > ?', now], r),
    yield* waitFor(`denied_at + ${bounds.within}`, bounds.denied, ['denied_at > ?', now - bounds.within], r),
  )
  if (wait > 0) return wait
  yield* createPolledRequest(r)
  return 0
}

/** Seconds until fewer than `most` requests to the same person count. `until` is when one of them counts no longer. */
function* waitFor(
  until: string,
  most: number,
  counts: Condition,
  { client_id, approval: { person }, created_at }: NewPolledRequest & { approval: ApprovalRequest },
): Op<number> {
  const counted = where(['client_id = ? AND person = ?', client_id, idBytes(person)], counts)
  const row = yield* one`SELECT ${raw(until)} AS until FROM device_requests ${counted}
    ORDER BY 1 DESC LIMIT 1 OFFSET ${most - 1}`
  return row ? num(row.until) - created_at : 0
}

/** The open requests that a person may decide about, oldest first. */
export const listOpenApprovals = ({ user_id, now, limit }: { user_id: string; now: number; limit: number }) =>
  list`WHERE user_id = ${user_id} AND decision IS NULL AND expires_at > ${now} ORDER BY id LIMIT ${limit}`

/** The number of open requests that a person may decide about. */
export const countOpenApprovals = ({ user_id, now }: { user_id: string; now: number }) =>
  selectNumber`SELECT count(*) AS n FROM device_requests WHERE user_id = ${user_id} AND decision IS NULL
    AND expires_at > ${now}`

/** Allows a request: records the authorization request of the person and approves it. False when the request was decided before, or has expired. */
export function* allowApproval({ request, ...a }: Approval & { request: AuthorizationRequest }): Op<boolean> {
  return (yield* claimPolledRequest({ request, now: a.now })) && (yield* approvePolledRequest(a))
}

/** Denies a request. An operator does that without `denied_at`: only what the person denied counts. False when it was decided before, or has expired. */
export function* denyApproval({ id, now, denied_at }: { id: string; now: number; denied_at?: number }): Op<boolean> {
  if (!(yield* lockUndecided(id, now))) return false
  yield* change`UPDATE device_requests SET decision = 'denied', denied_at = ${orNull(denied_at)}
    WHERE id = ${idBytes(id)}`
  return true
}

/** Requests that have expired undecided, and whose end is not recorded yet. */
export const listExpiredApprovals = ({ now, limit }: { now: number; limit: number }) =>
  list`WHERE person IS NOT NULL AND decision IS NULL AND expires_at <= ${now} ORDER BY expires_at LIMIT ${limit}`

/** Records that a request has expired undecided. False when it was recorded before. */
export const expireApproval = ({ id }: { id: string }) =>
  changed`UPDATE device_requests SET decision = 'expired' WHERE id = ${idBytes(id)} AND decision IS NULL`

/** The condition of each state. Its parameter is the time. */
const IS_IN: Readonly<Record<ApprovalState, (now: number) => Condition>> = {
  pending: (now) => ['decision IS NULL AND expires_at > ?', now],
  granted: () => ["decision = 'approved'"],
  denied: () => ["decision = 'denied'"],
  expired: (now) => ["(decision = 'expired' OR (decision IS NULL AND expires_at <= ?))", now],
}

export interface ApprovalFilter {
  status?: ApprovalState
  client_id?: string
  user_id?: string
  now: number
  limit: number
  offset?: number
}

/** The requests that are kept, newest first. */
export function* listApprovals({
  status,
  client_id,
  user_id,
  now,
  limit,
  offset = 0,
}: ApprovalFilter): Op<PolledApproval[]> {
  const fits = where(
    ['person IS NOT NULL'],
    status && IS_IN[status](now),
    is('client_id', client_id),
    is('user_id', user_id),
  )
  return yield* list`${fits} ORDER BY id DESC LIMIT ${limit} OFFSET ${offset}`
}
