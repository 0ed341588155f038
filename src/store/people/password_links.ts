// Operations on the one-time links with which users set a password.
import { equalSecrets } from '../../lib/id.ts'
import type { PasswordLink, User } from '../../records/user.ts'
import { forUpdate, idBytes, idText, type Op, one, raw } from '../op.ts'
import { column, plainTable } from '../table.ts'
import { USER_COLUMNS, USERS } from './user_rows.ts'
import { updateUser } from './users.ts'

const LINKS = plainTable<PasswordLink>('password_links', {
  id: column.id,
  user_id: column.text(),
  hash: column.id,
  created_at: column.int,
  expires_at: column.int,
})

/** Records a link. It replaces the earlier link of the user. */
export const savePasswordLink = (link: PasswordLink) => LINKS.replace(link, 'user_id')

interface PresentedLink {
  id: string
  hash: string
  now: number
}

/** The user who may set a password with a link. Undefined when the link is wrong, expired or used, or when the user is disabled. */
export function* findLinkedUser({ id, hash, now }: PresentedLink): Op<User | undefined> {
  const row = yield* one`SELECT l.hash AS link_hash, ${raw(USER_COLUMNS)}
    FROM password_links l JOIN users u ON u.id = l.user_id
    WHERE l.id = ${idBytes(id)} AND l.expires_at > ${now} AND u.status = 'active' AND u.provider = 'local'`
  return row && equalSecrets(idText(row.link_hash), hash) ? USERS.read(row) : undefined
}

/**
 * Sets the password of the user of a link, which uses the link up and ends the sessions and refresh tokens of the user. False when the link
 * is not valid, as in findLinkedUser().
 */
export function* usePasswordLink({ password_hash, ...link }: PresentedLink & { password_hash: string }): Op<boolean> {
  const found = yield* findLinkedUser(link)
  if (!found) return false
  // Of several uses at the same time, the first one deletes the link before the others read it again.
  yield* forUpdate`SELECT id FROM users WHERE id = ${found.id}`
  const user = yield* findLinkedUser(link)
  if (!user) return false
  yield* updateUser({ user: { ...user, password_hash, updated_at: link.now }, signOut: true, now: link.now })
  return true
}
