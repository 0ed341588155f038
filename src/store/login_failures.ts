// Operations on failed logins by address, which all instances share.
import { change, forUpdate, num, type Op, one } from './op.ts'

/** Until when an address is locked out, and its number of failures. */
export function* findLoginFailures({ address, since }: { address: string; since: number }): Op<{
  failures: number
  locked_until: number
}> {
  const row = yield* one('SELECT failures, since, locked_until FROM login_failures WHERE address = ?', address)
  if (!row) return { failures: 0, locked_until: 0 }
  return { failures: num(row.since) > since ? num(row.failures) : 0, locked_until: num(row.locked_until) }
}

export interface LoginFailure {
  address: string
  now: number
  /** Seconds, from the first failure on, in which failures are counted. */
  window: number
  /** Number of failures that locks an address out. */
  max: number
  /** Seconds that a lockout lasts. */
  lockout: number
}
/** Expired rows that are deleted with each failure: more than it can add. */
const SWEPT = 2

/** Counts a failure. Returns whether this failure locks the address out. */
export function* addLoginFailure({ address, now, window, max, lockout }: LoginFailure): Op<boolean> {
  yield* change(
    'INSERT INTO login_failures (address, failures, since, locked_until) VALUES (?, 0, ?, 0) ON CONFLICT (address) DO NOTHING',
    address,
    now,
  )
  const row = yield* forUpdate('SELECT failures, since FROM login_failures WHERE address = ?', address)
  const [failures, since] = row && num(row.since) > now - window ? [num(row.failures) + 1, num(row.since)] : [1, now]
  const locks = failures >= max
  yield* change(
    `DELETE FROM login_failures WHERE address IN
       (SELECT address FROM login_failures WHERE since <= ? AND locked_until <= ? AND address <> ? ORDER BY since LIMIT ${SWEPT})`,
    now - window,
    now,
    address,
  )
  yield* change(
    `UPDATE login_failures SET failures = ?, since = ?${locks ? ', locked_until = ?' : ''} WHERE address = ?`,
    locks ? 0 : failures,
    since,
    ...(locks ? [now + lockout] : []),
    address,
  )
  return locks
}

/** Deletes the failures of an address after a successful login. */
export function* clearLoginFailures({ address }: { address: string }): Op<void> {
  yield* change('DELETE FROM login_failures WHERE address = ?', address)
}
