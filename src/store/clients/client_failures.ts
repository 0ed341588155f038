// Operations on the last failures of clients. All instances add to the same rows.
import { digest } from '../../lib/id.ts'
import { DAY } from '../../lib/time.ts'
import { type ClientFailure, failureKey } from '../../telemetry/client_failures.ts'
import { change, type Op } from '../op.ts'
import { column, plainTable } from '../table.ts'

/** What distinguishes the failures of a client. */
const whatOf = (failure: ClientFailure): string => digest(failureKey(failure))

const FAILURES = plainTable<ClientFailure>(
  'client_failures',
  {
    client_id: column.text(),
    step: column.text(),
    status: column.int,
    error: column.text(),
    reason: column.text(),
    detail: column.text(),
    parameter: column.maybeText(),
    sent: column.maybeText(),
    allowed: column.maybeJson(),
    address: column.text(),
    request_id: column.text(),
    count: column.int,
    first_at: column.int,
    last_at: column.int,
  },
  { what: { write: whatOf } },
)
/** Failures of a client that are kept, and for how long. */
const [MOST, KEPT] = [20, 90 * DAY]

/** Adds failures. Those that differ in the time, the address and the request are counted in one row. The oldest ones of a client are deleted. */
export function* addClientFailures({ failures }: { failures: ClientFailure[] }): Op<void> {
  const keyed = failures.map((failure) => ({ failure, key: failure.client_id + whatOf(failure) }))
  // All instances use the same order. Otherwise two of them could deadlock.
  keyed.sort((a, b) => (a.key < b.key ? -1 : 1))
  yield* FAILURES.insert(
    keyed.map(({ failure }) => failure),
    `ON CONFLICT (client_id, what) DO UPDATE SET status = excluded.status, error = excluded.error, detail = excluded.detail,
       allowed = excluded.allowed, address = excluded.address, request_id = excluded.request_id,
       count = client_failures.count + excluded.count, last_at = excluded.last_at`,
  )
  for (const client_id of new Set(failures.map((each) => each.client_id)))
    yield* change`DELETE FROM client_failures WHERE client_id = ${client_id} AND what NOT IN
       (SELECT what FROM client_failures WHERE client_id = ${client_id} ORDER BY last_at DESC, what LIMIT ${MOST})`
}

/** The last failures of a client, latest first. */
export const listClientFailures = ({ client_id }: { client_id: string }) =>
  FAILURES.list`WHERE client_id = ${client_id} ORDER BY last_at DESC, what`

/** Deletes at most `limit` failures that are older than they are kept. Returns their number. */
export function* sweepClientFailures({ now, limit }: { now: number; limit: number }): Op<number> {
  return yield* change`DELETE FROM client_failures WHERE (client_id, what) IN
     (SELECT client_id, what FROM client_failures WHERE last_at < ${now - KEPT} ORDER BY last_at LIMIT ${limit})`
}
