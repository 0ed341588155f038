// The import of many users at once.
import type { User } from '../../records/user.ts'
import { all, change, listed, type Op, partsOf } from '../op.ts'
import { addGroups, emailKeys, insertUsers } from './user_rows.ts'

/** How many users an import created, and the positions of those whose email another user has. */
export interface ImportedUsers {
  created: number
  taken: number[]
}

/**
 * Adds users with different emails. `taken` contains the positions of those whose email another user has. If there are any, no user is
 * added, or with `skip` only the others. `stale`: another transaction took an email in the meantime, and no user is added.
 */
export function* importUsers(w: {
  users: readonly User[]
  skip: boolean
  dry_run: boolean
}): Op<ImportedUsers | 'stale'> {
  const { users, skip, dry_run } = w
  const found = yield* takenKeys(users)
  const isTaken = (user: User) => keysOf(user).some((key) => found.has(key))
  const taken = users.flatMap((user, i) => (isTaken(user) ? [i] : []))
  if (taken.length > 0 && !skip) return { created: 0, taken }
  const added = users.filter((user) => !isTaken(user))
  if (!dry_run) {
    if ((yield* insertUsers(added)) < added.length) {
      for (const { id } of added) yield* change`DELETE FROM users WHERE id = ${id}`
      return 'stale'
    }
    yield* addGroups(added)
  }
  return { created: added.length, taken }
}

const keysOf = ({ email }: User): readonly string[] => (email === undefined ? [] : emailKeys(email))

/** The keys of these users that other users have. */
function* takenKeys(users: readonly User[]): Op<Set<unknown>> {
  const found = new Set<unknown>()
  for (const keys of partsOf([...new Set(users.flatMap(keysOf))]))
    for (const { email_key } of yield* all`SELECT email_key FROM users WHERE email_key IN ${listed(keys)}`)
      found.add(email_key)
  return found
}
