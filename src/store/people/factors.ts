// Operations on the second factors of local users, and on their recovery codes.

import type { Session } from '../../records/session.ts'
import type { User } from '../../records/user.ts'
import { type Factor, MAX_FACTORS } from '../../records/user.ts'
import {
  change,
  changed,
  forUpdate,
  idBytes,
  insertRows,
  maybeEncoded,
  type Op,
  one,
  orNull,
  selectNumber,
} from '../op.ts'
import { column, plainTable } from '../table.ts'
import { USERS } from './user_rows.ts'
import { signOutUser } from './users.ts'

const FACTORS = plainTable<Factor>('user_factors', {
  id: column.id,
  user_id: column.text(),
  kind: column.text(),
  name: column.text(),
  created_at: column.int,
  last_used_at: column.maybeInt,
  secret: column.maybeText(),
  secret_clear: column.maybeText(),
  last_step: column.maybeInt,
  credential_id: column.maybeId,
  public_key: column.maybeId,
  counter: column.maybeInt,
})

/** The factors of a user, oldest first. */
export const listFactors = ({ user_id }: { user_id: string }) => FACTORS.list`WHERE user_id = ${user_id} ORDER BY id`

/** The number of unused recovery codes of a user. */
export const countRecoveryCodes = ({ user_id }: { user_id: string }) =>
  selectNumber`SELECT count(*) AS n FROM recovery_codes WHERE user_id = ${user_id}`

interface NewFactor {
  factor: Factor
  /** Hashes of recovery codes, which are stored with the first factor. */
  codes: readonly string[]
  /** The session in which the factor was added, and how its user has signed in with the factor. */
  session: Pick<Session, 'id' | 'amr' | 'acr'>
}

/** Adds a factor. `first` says whether its recovery codes are in force. Undefined when the user has too many, or the factor was added before. */
export function* addFactor({ factor: f, codes, session }: NewFactor): Op<{ first: boolean } | undefined> {
  yield* forUpdate`SELECT id FROM users WHERE id = ${f.user_id}`
  const before = yield* listFactors(f)
  if (before.filter(({ kind }) => kind === f.kind).length >= MAX_FACTORS) return undefined
  if ((yield* FACTORS.create(f)) === 'exists') return undefined
  const first = before.length === 0
  if (first) yield* replaceCodes(f.user_id, codes)
  yield* change`UPDATE sessions SET amr = ${maybeEncoded(session.amr)}, acr = ${orNull(session.acr)}
    WHERE id = ${idBytes(session.id)} AND user_id = ${f.user_id}`
  return { first }
}

function* replaceCodes(user_id: string, hashes: readonly string[]): Op<void> {
  yield* change`DELETE FROM recovery_codes WHERE user_id = ${user_id}`
  yield* insertRows(
    'recovery_codes (user_id, hash)',
    hashes.map((hash) => [user_id, idBytes(hash)]),
  )
}

/** Replaces the recovery codes of a user who has a factor. Returns whether the user has one. */
export function* replaceRecoveryCodes({ user_id, codes }: { user_id: string; codes: readonly string[] }): Op<boolean> {
  yield* forUpdate`SELECT id FROM users WHERE id = ${user_id}`
  if ((yield* listFactors({ user_id })).length === 0) return false
  yield* replaceCodes(user_id, codes)
  return true
}

/** Removes a factor of a user. Recovery codes go with the last one. Returns what was removed. */
export function* removeFactor({ user_id, id }: { user_id: string; id: string }): Op<Pick<Factor, 'kind'> | undefined> {
  yield* forUpdate`SELECT id FROM users WHERE id = ${user_id}`
  const row = yield* one`DELETE FROM user_factors WHERE id = ${idBytes(id)} AND user_id = ${user_id} RETURNING kind`
  if (!row) return undefined
  if ((yield* listFactors({ user_id })).length === 0) yield* replaceCodes(user_id, [])
  return { kind: row.kind as Factor['kind'] }
}

/** Removes every factor and recovery code of a user. */
function* forgetFactors(user_id: string): Op<number> {
  yield* replaceCodes(user_id, [])
  return yield* change`DELETE FROM user_factors WHERE user_id = ${user_id}`
}

/** Removes every factor of a user, and ends the sessions and refresh tokens. Returns the number of factors. */
export function* resetFactors({ user_id, now }: { user_id: string; now: number }): Op<number> {
  const factors = yield* forgetFactors(user_id)
  if (factors > 0) yield* signOutUser({ id: user_id, now })
  return factors
}

/** Uses the code of a time step. Returns false when a code of this or a later step was used before. */
export function* useTotpStep({ id, step, now }: { id: string; step: number; now: number }): Op<boolean> {
  return yield* changed`UPDATE user_factors SET last_step = ${step}, last_used_at = ${now} WHERE id = ${idBytes(id)}
    AND last_step < ${step}`
}

/** Uses a recovery code up. Returns whether the user had it. */
export const useRecoveryCode = ({ user_id, hash }: { user_id: string; hash: string }) =>
  changed`DELETE FROM recovery_codes WHERE user_id = ${user_id} AND hash = ${idBytes(hash)}`

/** The passkey with a credential id, and its active local user. */
export function* findPasskey(w: { credential_id: string }): Op<{ factor: Factor; user: User } | undefined> {
  const factor = yield* FACTORS.find`WHERE credential_id = ${idBytes(w.credential_id)}`
  if (!factor) return undefined
  const user = yield* USERS.find`WHERE id = ${factor.user_id} AND status = 'active' AND provider = 'local'`
  return user && { factor, user }
}

/** Records the use of a passkey. Returns false when its counter shows a copy of the authenticator, or when it was removed. */
export function* usePasskey({ id, counter, now }: { id: string; counter: number; now: number }): Op<boolean> {
  return yield* changed`UPDATE user_factors SET counter = ${counter}, last_used_at = ${now} WHERE id = ${idBytes(id)}
    AND (counter < ${counter} OR (counter = 0 AND ${counter} = 0))`
}
