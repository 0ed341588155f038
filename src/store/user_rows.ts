// Rows of users.
import type { User } from '../records/user.ts'
import { decoded, flag, insertRows, maybeStr, num, orNull, type Row, str } from './op.ts'

/** The columns of a user. */
export const USER_COLUMNS =
  'id, email, email_verified, name, password_hash, role, status, provider, provider_issuer, provider_sub, operator_groups, provider_groups, version, created_at, updated_at'

const readGroups = (column: unknown): string[] => (column === null ? [] : decoded(column))
const writeGroups = (names: readonly string[]) => (names.length === 0 ? null : JSON.stringify(names))

/** A user from its row. */
export const readUser = (row: Row): User => ({
  id: str(row.id),
  email: maybeStr(row.email),
  email_verified: flag(row.email_verified),
  name: str(row.name),
  password_hash: maybeStr(row.password_hash),
  role: row.role as User['role'],
  status: row.status as User['status'],
  provider: row.provider as User['provider'],
  provider_issuer: maybeStr(row.provider_issuer),
  provider_sub: maybeStr(row.provider_sub),
  operator_groups: readGroups(row.operator_groups),
  provider_groups: readGroups(row.provider_groups),
  version: num(row.version),
  created_at: num(row.created_at),
  updated_at: num(row.updated_at),
})

/** Emails are compared case-insensitively. */
export const emailKey = (email: string | undefined) => orNull(email?.toLowerCase())
/** The values that an update writes. */
export const changeable = (u: User) => [
  orNull(u.email),
  emailKey(u.email),
  Number(u.email_verified),
  u.name,
  orNull(u.password_hash),
  u.role,
  u.status,
  writeGroups(u.operator_groups),
  writeGroups(u.provider_groups),
  u.updated_at,
]

const INSERTED =
  'users (email, email_key, email_verified, name, password_hash, role, status, operator_groups, provider_groups, updated_at, id, provider, provider_issuer, provider_sub, version, created_at)'
/** Adds users whose email, and whose subject at their provider, is not taken. Returns their number. */
export const insertUsers = (users: readonly User[]) =>
  insertRows(
    INSERTED,
    users.map((u) => [
      ...changeable(u),
      u.id,
      u.provider,
      orNull(u.provider_issuer),
      orNull(u.provider_sub),
      u.version,
      u.created_at,
    ]),
    'ON CONFLICT DO NOTHING',
  )
