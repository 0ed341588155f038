// Sessions of the admin page: a cookie that only a page of this listener can use. A session belongs to a person or to a key, and has the
// capability that the person or key has at each request.
import type { App } from '../../context.ts'
import { cookieOf, type RequestHead } from '../../http/message.ts'
import { equalSecrets, newBearer, parseBearer } from '../../lib/id.ts'
import { DAY, HOUR } from '../../lib/time.ts'
import { isCrossSite } from '../../lib/url.ts'
import type { AdminSession } from '../../records/admin_session.ts'
import type { Store } from '../../store/index.ts'
import type { ResultOf } from '../../store/operations.ts'

const PREFIX = 'sas'
/** Of a wall view. The stored hash is of the whole cookie, so that no other prefix makes more of such a session. */
const WALL_PREFIX = 'saw'
/** Seconds after which the session of a wall view ends: it does not end for want of input. */
const WALL_SECONDS = 7 * DAY
/** Seconds after which a session of the admin page ends. */
export const ADMIN_SESSION_SECONDS = 12 * HOUR

/** The header that the admin page sends with every request: the scheme of its own address. Pages of other origins cannot send it. */
const PAGE_HEADER = 'x-admin-page'
const SCHEMES = ['http:', 'https:']

/** Whether the admin page that sent a request has https. Undefined for a request of anything else. */
export function isSecurePage(head: RequestHead): boolean | undefined {
  const scheme = head.headers[PAGE_HEADER]
  if (scheme === undefined || !SCHEMES.includes(scheme) || isCrossSite(head)) return undefined
  return scheme === 'https:'
}

/**
 * The name of the cookie. With https it has the `__Host-` prefix, so that no page of a sibling domain can set it. The admin listener is
 * also used without TLS, at a loopback address or behind a tunnel.
 */
const cookieName = (isSecure: boolean): string => (isSecure ? '__Host-service_admin' : 'service_admin')

const setCookie = (isSecure: boolean, value: string, maxAge: number): string =>
  `${cookieName(isSecure)}=${value}; Path=${isSecure ? '/' : '/admin'}; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`

/** A session that has not expired. */
export type FoundSession = NonNullable<ResultOf<'findAdminSession'>> & {
  /** It can only read, whatever its person or key may do. */
  isWall: boolean
}

/** The session of the admin page that sent a request. */
export async function findAdminPageSession(
  { store, clock }: Pick<App, 'clock'> & { store: Pick<Store, 'findAdminSession'> },
  head: RequestHead,
): Promise<FoundSession | undefined> {
  const isSecure = isSecurePage(head)
  const cookie = isSecure === undefined ? undefined : cookieOf(head, cookieName(isSecure))
  const isWall = cookie?.startsWith(`${WALL_PREFIX}_`) ?? false
  const bearer = cookie === undefined ? undefined : parseBearer(isWall ? WALL_PREFIX : PREFIX, cookie)
  const found = bearer && (await store.findAdminSession({ id: bearer.id, now: clock.now() }))
  return found && equalSecrets(found.session.hash, bearer.hash) ? { ...found, isWall } : undefined
}

/** Starts the session of a person or a key. Its cookie is always a new one. Returns the Set-Cookie header. */
export async function startAdminSession(
  { store, clock }: App,
  owner: Omit<AdminSession, 'id' | 'hash' | 'created_at' | 'expires_at'>,
  isSecure: boolean,
  isWall = false,
): Promise<string> {
  const { id, hash, value } = newBearer(isWall ? WALL_PREFIX : PREFIX)
  const now = clock.now()
  const seconds = isWall ? WALL_SECONDS : ADMIN_SESSION_SECONDS
  await store.createAdminSession({ ...owner, id, hash, created_at: now, expires_at: now + seconds })
  return setCookie(isSecure, value, seconds)
}

/** Exchanges a session for one of a wall view, of the same person or key. Returns the Set-Cookie header. */
export async function startWallSession(app: App, head: RequestHead, { session }: FoundSession): Promise<string> {
  const { user_id, identity, api_key_id, config_key } = session
  const owner = { user_id, identity, api_key_id, config_key }
  const cookie = await startAdminSession(app, owner, isSecurePage(head) ?? false, true)
  await app.store.deleteAdminSession({ id: session.id })
  return cookie
}

/** Ends a session of the admin page. Returns the Set-Cookie header that deletes the cookie. */
export async function endAdminSession({ store }: App, head: RequestHead, { session }: FoundSession): Promise<string> {
  await store.deleteAdminSession({ id: session.id })
  return setCookie(isSecurePage(head) ?? false, '', 0)
}
