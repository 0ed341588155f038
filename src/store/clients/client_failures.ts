// Operations on the last failures of clients. All instances add to the same rows.
import { digest } from '../../lib/id.ts'
import { DAY } from '../../lib/time.ts'
import { type ClientFailure, failureKey } from '../../telemetry/client_failures.ts'
import { all, change, insertRows, maybeDecoded, maybeEncoded, maybeStr, num, type Op, orNull, str } from '../op.ts'

const COLUMNS =
  'client_id, step, status, error, reason, detail, parameter, sent, allowed, address, request_id, count, first_at, last_at'
/** Failures of a client that are kept, and for how long. */
const [MOST, KEPT] = [20, 90 * DAY]

/** Adds failures. Those that differ in the time, the address and the request are counted in one row. The oldest ones of a client are deleted. */
export function* addClientFailures({ failures }: { failures: ClientFailure[] }): Op<void> {
  const keyed = failures.map((failure) => ({ ...failure, what: digest(failureKey(failure)) }))
  // All instances use the same order. Otherwise two of them could deadlock.
  keyed.sort((a, b) => (a.client_id + a.what < b.client_id + b.what ? -1 : 1))
  yield* insertRows(
    `client_failures (what, ${COLUMNS})`,
    keyed.map((f) => [
      f.what,
      f.client_id,
      f.step,
      f.status,
      f.error,
      f.reason,
      f.detail,
      orNull(f.parameter),
      orNull(f.sent),
      maybeEncoded(f.allowed),
      f.address,
      f.request_id,
      f.count,
      f.first_at,
      f.last_at,
    ]),
    `ON CONFLICT (client_id, what) DO UPDATE SET status = excluded.status, error = excluded.error, detail = excluded.detail,
       allowed = excluded.allowed, address = excluded.address, request_id = excluded.request_id,
       count = client_failures.count + excluded.count, last_at = excluded.last_at`,
  )
  for (const client_id of new Set(keyed.map((each) => each.client_id)))
    yield* change(
      `DELETE FROM client_failures WHERE client_id = ? AND what NOT IN
         (SELECT what FROM client_failures WHERE client_id = ? ORDER BY last_at DESC, what LIMIT ?)`,
      client_id,
      client_id,
      MOST,
    )
}

/** The last failures of a client, latest first. */
export function* listClientFailures({ client_id }: { client_id: string }): Op<ClientFailure[]> {
  const rows = yield* all(
    `SELECT ${COLUMNS} FROM client_failures WHERE client_id = ? ORDER BY last_at DESC, what`,
    client_id,
  )
  return rows.map((row) => ({
    client_id: str(row.client_id),
    step: str(row.step),
    status: num(row.status),
    error: str(row.error),
    reason: str(row.reason),
    detail: str(row.detail),
    parameter: maybeStr(row.parameter),
    sent: maybeStr(row.sent),
    allowed: maybeDecoded<string[]>(row.allowed),
    address: str(row.address),
    request_id: str(row.request_id),
    count: num(row.count),
    first_at: num(row.first_at),
    last_at: num(row.last_at),
  }))
}

/** Deletes at most `limit` failures that are older than they are kept. Returns their number. */
export function* sweepClientFailures({ now, limit }: { now: number; limit: number }): Op<number> {
  return yield* change(
    `DELETE FROM client_failures WHERE (client_id, what) IN
       (SELECT client_id, what FROM client_failures WHERE last_at < ? ORDER BY last_at LIMIT ?)`,
    now - KEPT,
    limit,
  )
}
