// The rows by which groups and their users are listed. The user record has the same names; its operations call these.
import { groupsOf, type User } from '../../records/user.ts'
import { change, insertRows, type Op } from '../op.ts'

/** Deletes the rows of a user. */
export function* deleteGroups(user_id: string): Op<void> {
  yield* change('DELETE FROM user_groups WHERE user_id = ?', user_id)
}

/** Adds the rows of users that have none. */
export function* addGroups(users: readonly User[]): Op<void> {
  const rows = users.flatMap((user) => groupsOf(user).map((name) => [user.id, name, user.created_at]))
  yield* insertRows('user_groups (user_id, name, created_at)', rows)
}
