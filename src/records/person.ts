// What access rules and the claims of tokens need to know of a user.
import { groupsOf, type User } from './user.ts'

export interface Person extends Pick<User, 'id' | 'email' | 'email_verified' | 'name'> {
  /** The groups of operators and of the provider. */
  groups: readonly string[]
  isIn: ReadonlySet<string>
}

/** The person of a user record. */
export function personOf(user: User): Person {
  const { id, email, email_verified, name } = user
  const groups = groupsOf(user)
  return { id, email, email_verified, name, groups, isIn: new Set(groups) }
}
