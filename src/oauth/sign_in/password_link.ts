// One-time links with which users set a password: how they look, and how long they are valid.
import type { Config } from '../../config/schema.ts'
import { type Bearer, newBearer, parseBearer } from '../../lib/id.ts'
import { DAY } from '../../lib/time.ts'
import type { PasswordLink } from '../../records/user.ts'

export const PASSWORD_PATH = '/password'
const PREFIX = 'pwl'
const LIFETIME = DAY

/** A new link for a user: its URL, which is shown once, and its record. */
export function newPasswordLink({ server }: Config, user_id: string, now: number): { url: string; link: PasswordLink } {
  const { value, id, hash } = newBearer(PREFIX)
  return {
    url: `${server.issuer}${PASSWORD_PATH}/${value}`,
    link: { id, user_id, hash, created_at: now, expires_at: now + LIFETIME },
  }
}

/** The token of a link. Undefined when this service cannot have made it. */
export const parsePasswordLink = (token = ''): Bearer | undefined => parseBearer(PREFIX, token)
