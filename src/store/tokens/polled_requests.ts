// Operations on the requests that clients poll for: those of devices (RFC 8628) and approvals (CIBA). Every operation that changes a request and its authorization request locks the
// device request first, so that two of them never wait for each other.
import type { AuthorizationRequest } from '../../records/authorization_request.ts'
import type { ApprovalRequest, PolledRequest } from '../../records/polled_request.ts'
import type { SingleUse } from '../../records/single_use.ts'
import {
  change,
  decoded,
  forUpdate,
  idBytes,
  idText,
  maybeDecoded,
  maybeEncoded,
  maybeIdBytes,
  maybeStr,
  num,
  type Op,
  one,
  orNull,
  type Row,
  str,
} from '../op.ts'
import { recordUse } from './single_uses.ts'
import {
  type Approval,
  approveAuthorizationRequest,
  createAuthorizationRequest,
  denyAuthorizationRequest,
} from './tokens.ts'

/** The columns that readPolled() reads. */
export const POLLED_COLUMNS =
  'id, hash, user_code_hash, client_id, scope, asked_scope, resource, dpop_jkt, ip, user_agent, wait, decision, authorization_details, user_id, person, approval, created_at, expires_at'
/** A polled request from its row. */
export const readPolled = (row: Row): PolledRequest => ({
  id: idText(row.id),
  hash: idText(row.hash),
  user_code_hash: idText(row.user_code_hash),
  client_id: str(row.client_id),
  scope: str(row.scope),
  asked_scope: str(row.asked_scope),
  resource: maybeStr(row.resource),
  dpop_jkt: maybeStr(row.dpop_jkt),
  ip: str(row.ip),
  user_agent: maybeStr(row.user_agent),
  wait: num(row.wait),
  authorization_details: maybeDecoded(row.authorization_details),
  approval: readApproval(row),
  decision: maybeStr(row.decision) as PolledRequest['decision'],
  created_at: num(row.created_at),
  expires_at: num(row.expires_at),
})

const readApproval = ({ user_id, person, approval }: Row): ApprovalRequest | undefined =>
  person === null ? undefined : { user_id: maybeStr(user_id), person: idText(person), ...decoded<object>(approval) }

/** A new request, with the DPoP proof and the client assertion that it consumes. */
export type NewPolledRequest = Omit<PolledRequest, 'decision'> & { uses?: readonly SingleUse[] }

/** Records a request. False when another request has the same user code. Throws when its proof or assertion was used before. */
export function* createPolledRequest(r: NewPolledRequest): Op<boolean> {
  const { user_id, person, ...approval } = r.approval ?? {}
  const added = yield* change(
    `INSERT INTO device_requests (id, hash, user_code_hash, client_id, scope, asked_scope, resource, dpop_jkt, ip, user_agent, wait, created_at, expires_at, authorization_details, user_id, person, approval)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (user_code_hash) DO NOTHING`,
    idBytes(r.id),
    idBytes(r.hash),
    idBytes(r.user_code_hash),
    r.client_id,
    r.scope,
    r.asked_scope,
    orNull(r.resource),
    orNull(r.dpop_jkt),
    r.ip,
    orNull(r.user_agent),
    r.wait,
    r.created_at,
    r.expires_at,
    maybeEncoded(r.authorization_details),
    orNull(user_id),
    maybeIdBytes(person),
    r.approval ? JSON.stringify(approval) : null,
  )
  if (added === 0) return false
  for (const use of r.uses ?? []) yield* recordUse(use)
  return true
}

/** A request in any state. */
export function* findPolledRequest({ id }: { id: string }): Op<PolledRequest | undefined> {
  const row = yield* one(`SELECT ${POLLED_COLUMNS} FROM device_requests WHERE id = ?`, idBytes(id))
  return row && readPolled(row)
}

/** The request that waits for its user, by user code. */
export function* findPolledRequestByUserCode({
  user_code_hash,
  now,
}: {
  user_code_hash: string
  now: number
}): Op<PolledRequest | undefined> {
  const row = yield* one(
    `SELECT ${POLLED_COLUMNS} FROM device_requests WHERE user_code_hash = ? AND decision IS NULL AND expires_at > ?`,
    idBytes(user_code_hash),
    now,
  )
  return row && readPolled(row)
}

/** Seconds that a poll adds to the interval when it comes too early (RFC 8628 §3.5). */
const SLOWER = 5
const SECOND_MS = 1000

/** Records a poll of a waiting device. `slow_down` when it came before its time, which makes the interval longer. */
export function* pollPolledRequest({ id, now_ms }: { id: string; now_ms: number }): Op<'pending' | 'slow_down'> {
  const row = yield* forUpdate('SELECT wait, polled_at_ms FROM device_requests WHERE id = ?', idBytes(id))
  const isEarly =
    row !== undefined && row.polled_at_ms !== null && now_ms < num(row.polled_at_ms) + num(row.wait) * SECOND_MS
  yield* change(
    'UPDATE device_requests SET polled_at_ms = ?, wait = wait + ? WHERE id = ?',
    now_ms,
    isEarly ? SLOWER : 0,
    idBytes(id),
  )
  return isEarly ? 'slow_down' : 'pending'
}

/** Locks a request. Returns whether it still waits for a decision. */
export function* lockUndecided(id: string, now: number): Op<boolean> {
  const row = yield* forUpdate('SELECT decision, expires_at FROM device_requests WHERE id = ?', idBytes(id))
  return row !== undefined && row.decision === null && num(row.expires_at) > now
}

const decide = (id: string, decision: 'approved' | 'denied') =>
  change('UPDATE device_requests SET decision = ? WHERE id = ?', decision, idBytes(id))

/**
 * Records the authorization request of the user who entered the code. It replaces that of another user or browser. False when the
 * device request was decided or has expired.
 */
export function* claimPolledRequest({ request, now }: { request: AuthorizationRequest; now: number }): Op<boolean> {
  if (!(yield* lockUndecided(request.id, now))) return false
  yield* change('DELETE FROM authorization_requests WHERE id = ? AND code_hash IS NULL', idBytes(request.id))
  yield* createAuthorizationRequest(request)
  return true
}

/** Approves the authorization request of a device: the device code becomes its code. False when it was decided before. */
export function* approvePolledRequest(a: Approval): Op<boolean> {
  if (!(yield* lockUndecided(a.id, a.now)) || !(yield* approveAuthorizationRequest(a))) return false
  yield* decide(a.id, 'approved')
  return true
}

/** Denies the authorization request of a device. False when it was decided before. */
export function* denyPolledRequest({ id, now }: { id: string; now: number }): Op<boolean> {
  if (!(yield* lockUndecided(id, now)) || !(yield* denyAuthorizationRequest({ id, now }))) return false
  yield* decide(id, 'denied')
  return true
}
