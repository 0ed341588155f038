// The record of a new user with a password here.
import type { Profile, User } from '../../records/user.ts'
import { newUserId } from '../clients/client_metadata.ts'

interface NewUser extends Profile, Pick<User, 'email' | 'email_verified' | 'name' | 'role' | 'password_hash'> {
  status?: User['status']
  groups: readonly string[]
}

/** A new local user, created by an operator at `now`. */
export const newLocalUser = ({ groups, status = 'active', ...fields }: NewUser, now: number): User => ({
  ...fields,
  id: newUserId(),
  status,
  provider: 'local',
  operator_groups: groups,
  provider_groups: [],
  version: 1,
  created_at: now,
  updated_at: now,
})
