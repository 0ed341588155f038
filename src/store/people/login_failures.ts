// Operations on failed logins by address and by account, which all instances share.
import { newId } from '../../lib/id.ts'
import type { LockoutRecord } from '../../records/lockout.ts'
import {
  all,
  change,
  forUpdate,
  maybeNum,
  maybeStr,
  num,
  type Op,
  one,
  orNull,
  part,
  type Row,
  raw,
  selectNumber,
  str,
} from '../op.ts'

/** The subject of a count of failures: an address, an account by the MAC of its email, or an address at one account. */
export type FailureKey = { address: string } | { account: string } | { address: string; account: string }

const ACCOUNT = 'account:'
function keyOf(key: FailureKey): string {
  if (!('account' in key)) return key.address
  return 'address' in key ? `${ACCOUNT}${key.account} ${key.address}` : `${ACCOUNT}${key.account}`
}

interface Counted {
  failures: number
  since: number
  locked_until: number
}
/** The failures of a row that still count: those of the window, and those of a lockout that has not ended. */
function counted(row: Row | undefined, now: number, window: number): Counted {
  const locked_until = row ? num(row.locked_until) : 0
  if (!row || (locked_until <= now && (locked_until > 0 || num(row.since) <= now - window)))
    return { failures: 0, since: now, locked_until: 0 }
  return { failures: num(row.failures), since: num(row.since), locked_until }
}

/** The number of failures, and until when the address or account is locked; 0 when it is not. */
export function* findLoginFailures({ key, now, window }: FailureQuery): Op<Omit<Counted, 'since'>> {
  const row = yield* one`SELECT failures, since, locked_until FROM login_failures WHERE address = ${keyOf(key)}`
  const { failures, locked_until } = counted(row, now, window)
  return { failures, locked_until }
}
interface FailureQuery {
  key: FailureKey
  now: number
  /** Seconds, from the first failure on, in which failures are counted. */
  window: number
}

export interface LoginFailure extends FailureQuery {
  /** The user of an account that exists. */
  user_id?: string
  /** Number of failures that locks an address or account. */
  max: number
  /** Seconds that a lockout lasts after the last failure. */
  lockout: number
  /** Rows whose first failure is older than this time may be deleted, because they are outside every window. */
  expired_before: number
}
/** Number of expired rows that are deleted with each counted failure: more than a failure can add. */
const SWEPT = 2

/** Counts a failure. Returns whether this failure begins a lockout. */
export function* addLoginFailure(f: LoginFailure): Op<boolean> {
  const { key, now, window, max } = f
  const name = keyOf(key)
  yield* change`INSERT INTO login_failures (address, failures, since, locked_until) VALUES (${name}, 0, ${now}, 0)
    ON CONFLICT (address) DO NOTHING`
  const row = yield* forUpdate`SELECT failures, since, locked_until, id, locked_at FROM login_failures
    WHERE address = ${name}`
  const before = counted(row, now, window)
  const locks = before.failures + 1 >= max
  const begins = locks && before.locked_until === 0
  yield* change`DELETE FROM login_failures WHERE address IN (SELECT address FROM login_failures
    WHERE since <= ${f.expired_before} AND locked_until <= ${now} AND address <> ${name} ORDER BY since LIMIT ${raw(SWEPT)})`
  // A lockout of an email without an account has no id: operators can do nothing about it.
  const id = 'address' in key || f.user_id !== undefined ? (maybeStr(row?.id) ?? newId()) : undefined
  const locked_at = begins ? now : (maybeNum(row?.locked_at) ?? now)
  yield* change`UPDATE login_failures SET failures = ${before.failures + 1}, since = ${before.since},
      locked_until = ${locks ? now + f.lockout : 0}, id = ${locks ? orNull(id) : null},
      user_id = ${orNull(f.user_id)}, locked_at = ${locks ? locked_at : null}
    WHERE address = ${name}`
  return begins
}

/**
 * Subtracts the failures of an address at one account from the failures of the address. Its failures at other accounts remain. Otherwise a
 * caller with an account could guess the passwords of all other accounts without limit.
 */
export function* forgiveLoginFailures({ address, account, now, window }: ForgivenFailures): Op<void> {
  const name = keyOf({ address, account })
  const row = yield* forUpdate`SELECT failures, since, locked_until FROM login_failures WHERE address = ${name}`
  const { failures } = counted(row, now, window)
  if (row) yield* change`DELETE FROM login_failures WHERE address = ${name}`
  if (failures === 0) return
  yield* change`UPDATE login_failures SET failures = CASE WHEN failures > ${failures} THEN failures - ${failures} ELSE 0 END
    WHERE address = ${address} AND locked_until <= ${now}`
}
interface ForgivenFailures {
  address: string
  account: string
  now: number
  window: number
}

const isLocked = (now: number) => part`f.id IS NOT NULL AND f.locked_until > ${now}`
/** The addresses and accounts that are locked, the most recent lockout first. */
export function* listLockouts({ now, limit, offset }: LockoutPage): Op<LockoutRecord[]> {
  const rows = yield* all`SELECT f.id, f.address, f.user_id, u.email, f.failures, f.since, f.locked_at, f.locked_until
    FROM login_failures f LEFT JOIN users u ON u.id = f.user_id
    WHERE ${isLocked(now)} ORDER BY f.locked_at DESC, f.id DESC LIMIT ${limit} OFFSET ${offset}`
  return rows.map(readLockout)
}
interface LockoutPage {
  now: number
  limit: number
  offset: number
}

const addressOf = (name: string) => (name.startsWith(ACCOUNT) ? undefined : name)
const readLockout = (row: Row): LockoutRecord => ({
  id: str(row.id),
  address: addressOf(str(row.address)),
  user_id: maybeStr(row.user_id),
  email: maybeStr(row.email),
  failures: num(row.failures),
  since: num(row.since),
  locked_at: num(row.locked_at),
  locked_until: num(row.locked_until),
})

/** The number of addresses and accounts that are locked. */
export const countLockouts = ({ now }: { now: number }) =>
  selectNumber`SELECT count(*) AS n FROM login_failures f WHERE ${isLocked(now)}`

/** Ends a lockout: its failures no longer count. Returns what was locked, or undefined when there is no such lockout. */
export function* deleteLockout(w: {
  id: string
  now: number
}): Op<Pick<LockoutRecord, 'address' | 'user_id'> | undefined> {
  const { id, now } = w
  const row = yield* one`DELETE FROM login_failures WHERE id = ${id} AND locked_until > ${now}
    RETURNING address, user_id`
  return row && { address: addressOf(str(row.address)), user_id: maybeStr(row.user_id) }
}
