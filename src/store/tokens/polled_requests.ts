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
  maybeEncoded,
  maybeIdBytes,
  maybeStr,
  num,
  type Op,
  orNull,
  type Param,
} from '../op.ts'
import { column, plainTable } from '../table.ts'
import { recordUse } from './single_uses.ts'
import {
  type Approval,
  approveAuthorizationRequest,
  createAuthorizationRequest,
  denyAuthorizationRequest,
} from './tokens.ts'

/** The person of an approval has columns of its own, by which its requests are found. */
const ofApproval = (write: (approval: ApprovalRequest | undefined) => Param) => ({
  read: () => undefined,
  write: ({ approval }: PolledRequest) => write(approval),
})
export const POLLED = plainTable<PolledRequest>(
  'device_requests',
  {
    id: column.id,
    hash: column.id,
    user_code_hash: column.id,
    client_id: column.text(),
    scope: column.text(),
    asked_scope: column.text(),
    resource: column.maybeText(),
    dpop_jkt: column.maybeText(),
    ip: column.text(),
    user_agent: column.maybeText(),
    wait: column.int,
    authorization_details: column.maybeJson(),
    approval: {
      read: (approval, { user_id, person }) =>
        person === null
          ? undefined
          : { user_id: maybeStr(user_id), person: idText(person), ...decoded<object>(approval) },
      write: (approval) => maybeEncoded(approval && { ...approval, user_id: undefined, person: undefined }),
    },
    decision: column.readOnly(column.maybeText()),
    created_at: column.int,
    expires_at: column.int,
  },
  {
    user_id: ofApproval((approval) => orNull(approval?.user_id)),
    person: ofApproval((approval) => maybeIdBytes(approval?.person)),
  },
)

/** A new request, with the DPoP proof and the client assertion that it consumes. */
export type NewPolledRequest = Omit<PolledRequest, 'decision'> & { uses?: readonly SingleUse[] }

/** Records a request. False when another request has the same user code. Throws when its proof or assertion was used before. */
export function* createPolledRequest(r: NewPolledRequest): Op<boolean> {
  const added = yield* POLLED.insert([r], 'ON CONFLICT (user_code_hash) DO NOTHING')
  if (added === 0) return false
  for (const use of r.uses ?? []) yield* recordUse(use)
  return true
}

/** A request in any state. */
export const findPolledRequest = ({ id }: { id: string }) => POLLED.find`WHERE id = ${idBytes(id)}`

/** The request that waits for its user, by user code. */
export const findPolledRequestByUserCode = (w: { user_code_hash: string; now: number }) =>
  POLLED.find`WHERE user_code_hash = ${idBytes(w.user_code_hash)} AND decision IS NULL AND expires_at > ${w.now}`

/** Seconds that a poll adds to the interval when it comes too early (RFC 8628 §3.5). */
const SLOWER = 5
const SECOND_MS = 1000

/** Records a poll of a waiting device. `slow_down` when it came before its time, which makes the interval longer. */
export function* pollPolledRequest({ id, now_ms }: { id: string; now_ms: number }): Op<'pending' | 'slow_down'> {
  const row = yield* forUpdate`SELECT wait, polled_at_ms FROM device_requests WHERE id = ${idBytes(id)}`
  const isEarly =
    row !== undefined && row.polled_at_ms !== null && now_ms < num(row.polled_at_ms) + num(row.wait) * SECOND_MS
  yield* change`UPDATE device_requests SET polled_at_ms = ${now_ms}, wait = wait + ${isEarly ? SLOWER : 0}
    WHERE id = ${idBytes(id)}`
  return isEarly ? 'slow_down' : 'pending'
}

/** Locks a request. Returns whether it still waits for a decision. */
export function* lockUndecided(id: string, now: number): Op<boolean> {
  const row = yield* forUpdate`SELECT decision, expires_at FROM device_requests WHERE id = ${idBytes(id)}`
  return row !== undefined && row.decision === null && num(row.expires_at) > now
}

const decide = (id: string, decision: 'approved' | 'denied') =>
  change`UPDATE device_requests SET decision = ${decision} WHERE id = ${idBytes(id)}`

/**
 * Records the authorization request of the user who entered the code. It replaces that of another user or browser. False when the
 * device request was decided or has expired.
 */
export function* claimPolledRequest({ request, now }: { request: AuthorizationRequest; now: number }): Op<boolean> {
  if (!(yield* lockUndecided(request.id, now))) return false
  yield* change`DELETE FROM authorization_requests WHERE id = ${idBytes(request.id)} AND code_hash IS NULL`
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
