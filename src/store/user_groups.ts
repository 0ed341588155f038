// The rows by which groups and their users are listed. The user record has the same names; its operations call these.
import { groupsOf, type User } from '../records/user.ts'
import { change, type Op } from './op.ts'

/** Maximum number of rows of one statement. */
const ROWS = 100

/** Deletes the rows of a user. */
export function* deleteGroups(user_id: string): Op<void> {
  yield* change('DELETE FROM user_groups WHERE user_id = ?', user_id)
}

/** Adds the rows of a user that has none. */
export function* addGroups(user: User): Op<void> {
  const names = groupsOf(user)
  for (let at = 0; at < names.length; at += ROWS) {
    const part = names.slice(at, at + ROWS)
    yield* change(
      `INSERT INTO user_groups (user_id, name, created_at) VALUES ${part.map(() => '(?, ?, ?)').join(', ')}`,
      ...part.flatMap((name) => [user.id, name, user.created_at]),
    )
  }
}
