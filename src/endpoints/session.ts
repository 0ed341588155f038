// The sign-in of a browser: a sealed cookie that names a row of the store, so that a row that is gone ends the session.

import { isProduction } from '../config/rule.ts'
import type { App } from '../context.ts'
import { cookieOf, type RequestHead } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { equalSecrets, isId, newId, newSecret } from '../lib/id.ts'
import { isCrossSite } from '../lib/url.ts'
import type { ResultOf } from '../store/operations.ts'

/** A live session with its active user. */
export type SignedIn = NonNullable<ResultOf<'findSession'>>

/** Who is signed in at the browser that sent a request. */
export async function findSignedIn(app: App, request: RequestHead): Promise<SignedIn | undefined> {
  const cookie = cookieOf(request, sessionName(app))
  const { sid } = (cookie && app.sealer.open(cookie)) || {}
  if (typeof sid !== 'string' || !isId(sid)) return undefined
  return app.store.findSession({ id: sid, now: app.clock.now() })
}

/** Begins a session in place of the one that the browser had. Returns the Set-Cookie header. */
export async function startSession(app: App, request: RequestHead, user_id: string): Promise<string> {
  const { max_age } = app.config.session
  const now = app.clock.now()
  const session = { id: newId(), user_id, created_at: now, expires_at: now + Math.floor(max_age) }
  const before = await findSignedIn(app, request)
  await app.store.createSession(session)
  if (before) await app.store.deleteSession({ id: before.session.id })
  return setCookie(app, sessionName(app), app.sealer.seal({ sid: session.id }), max_age)
}

/** Ends the session of a browser. Returns the Set-Cookie headers that clear its cookies. */
export async function endSession(app: App, signedIn: SignedIn | undefined): Promise<string[]> {
  if (signedIn) await app.store.deleteSession({ id: signedIn.session.id })
  return [sessionName(app), nonceName(app)].map((name) => setCookie(app, name, '', 0))
}

/** A token that only pages of this session hold, for one purpose. */
export const sessionToken = (app: App, { session }: SignedIn, purpose: string): string =>
  app.sealer.mac('session form', `${session.id} ${purpose}`)

const NONCE_AGE_SECONDS = 12 * 3600
/** The name of a cookie that only we can have set: the prefix keeps sibling domains from setting it (RFC 6265bis §4.1.3). */
export const ownName = (app: App, name: string): string => `${app.config.session.secure ? '__Host-' : ''}${name}`
/** The session cookie has the name that is configured, and the prefix wherever there can be sibling domains: localhost has none. */
const sessionName = (app: App) => {
  const { cookie_name } = app.config.session
  return isProduction(app.config) ? ownName(app, cookie_name) : cookie_name
}
const nonceName = (app: App) => ownName(app, 'service_login_nonce')
const NONCE = /^[A-Za-z0-9_-]{43}$/

/** The form token of a browser that is not signed in yet, with the cookie it belongs to. Several tabs share one. */
export function loginToken(app: App, request: RequestHead): { token: string; cookie: string } {
  const known = cookieOf(request, nonceName(app))
  const nonce = known && NONCE.test(known) ? known : newSecret()
  return {
    token: app.sealer.mac('login form', nonce),
    cookie: setCookie(app, nonceName(app), nonce, NONCE_AGE_SECONDS),
  }
}

/** Whether a posted form came from a page that this browser was given. */
export function isLoginToken(app: App, request: RequestHead, token: string | undefined): boolean {
  const nonce = cookieOf(request, nonceName(app))
  return nonce !== undefined && token !== undefined && equalSecrets(app.sealer.mac('login form', nonce), token)
}

/** Whether a request is of a browser: browsers say what each is for, in a header that no page can set or leave out (Fetch Metadata §2.1). */
export const isOfBrowser = (request: RequestHead): boolean => request.headers['sec-fetch-dest'] !== undefined

/** Refuses a form that no page of this session holds. Throws access_denied. */
export function checkForm(app: App, request: RequestHead, signedIn: SignedIn, purpose: string, token = ''): void {
  if (!isCrossSite(request) && equalSecrets(sessionToken(app, signedIn, purpose), token)) return
  throw new OAuthError('access_denied', 'this form does not belong to your session', { reason: 'bad_form' })
}

/** A Set-Cookie header with the attributes of the configuration; `sameSite` where another one than the session's is needed. */
export function setCookie(
  app: App,
  name: string,
  value: string,
  maxAge: number,
  sameSite = app.config.session.same_site,
): string {
  const word = { lax: 'Lax', strict: 'Strict', none: 'None' }[sameSite]
  return `${name}=${value}; Path=/; Max-Age=${Math.floor(maxAge)}; HttpOnly; SameSite=${word}${app.config.session.secure ? '; Secure' : ''}`
}
