// Browser sessions: an encrypted cookie names a row in the store. Deleting the row ends the session.

import { isProduction } from '../config/rule.ts'
import type { App } from '../context.ts'
import { cookieOf, type Request, type RequestHead } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { equalSecrets, isId, newId, newSecret } from '../lib/id.ts'
import { newAuditEvent, sentBy } from '../oauth/audit.ts'
import { loginForOf } from '../oauth/required_login.ts'
import type { AuditEvent } from '../records/audit_event.ts'
import type { Session } from '../records/session.ts'
import type { ResultOf } from '../store/operations.ts'
import { isForeign } from './origin.ts'

/** A session that has not expired, with its active user. */
export type SignedIn = NonNullable<ResultOf<'findSession'>> & {
  /** The authorization request that the login was made for. */
  login_for?: string
}

/** The session of the browser that sent a request. */
export async function findSignedIn(app: App, request: RequestHead): Promise<SignedIn | undefined> {
  const cookie = cookieOf(request, sessionName(app))
  const { sid, login_for } = (cookie && app.sealer.open(cookie)) || {}
  if (typeof sid !== 'string' || !isId(sid)) return undefined
  const found = await app.store.findSession({ id: sid, now: app.clock.now() })
  if (found) noteSessionUse(app, found.session)
  return found && { ...found, ...(typeof login_for === 'string' ? { login_for } : {}) }
}

const USE_NOTED_SECONDS = 300
/** Records that a session is in use, at most once in five minutes. The response does not wait for it. The storage reports its own failures. */
function noteSessionUse(app: App, { id, last_used_at = 0 }: Session): void {
  const now = app.clock.now()
  if (now - last_used_at < USE_NOTED_SECONDS) return
  app.store.touchSession({ id, now }).catch((error) => {
    app.log.debug({ err: error }, 'the last use of a session could not be recorded')
  })
}

/** What the upstream provider says about a sign-in. */
export type UpstreamSession = Pick<Session, 'oidc_issuer' | 'oidc_sid' | 'auth_time' | 'amr' | 'acr'>

interface NewSession {
  user_id: string
  /** The local path that the login returns to. */
  target: string
  upstream?: UpstreamSession
  event: AuditEvent
}

/** Starts a session, with its event, and ends the previous session of the browser. Returns the Set-Cookie header. */
export async function startSession(
  app: App,
  request: RequestHead,
  { user_id, target, upstream, event }: NewSession,
): Promise<string> {
  const { max_age } = app.config.session
  const now = app.clock.now()
  const session: Session = {
    id: newId(),
    user_id,
    created_at: now,
    expires_at: now + Math.floor(max_age),
    last_used_at: now,
    ...sentFrom(request),
    ...upstream,
  }
  const previous = await findSignedIn(app, request)
  await Promise.all([app.store.recorded('createSession', session, event), saveUpstreamSession(app, session)])
  if (previous) await app.store.deleteSession({ id: previous.session.id })
  return setCookie(app, sessionName(app), app.sealer.seal({ sid: session.id, login_for: loginForOf(target) }), max_age)
}

/** Records the session at the provider for as long as refresh tokens that the user grants in this session can live unused. */
async function saveUpstreamSession(app: App, session: Session): Promise<void> {
  const { oidc_issuer: issuer, oidc_sid: sid, user_id, expires_at } = session
  if (issuer === undefined || sid === undefined) return
  await app.store.saveFederatedSession({
    ...{ id: newId(), issuer, sid, user_id },
    expires_at: expires_at + app.config.dcr.default_refresh_expiry,
  })
}

const MAX_USER_AGENT = 512
/** The program and the address that sent a request, as the account page and the page of a device show them. Browsers send printable ASCII characters only. */
export const sentFrom = ({ headers, remote }: RequestHead): Pick<Session, 'user_agent'> & { ip: string } => ({
  user_agent: headers['user-agent']?.replace(/[^\x20-\x7e]/g, '').slice(0, MAX_USER_AGENT),
  ip: remote,
})

/** Ends a session, with its event. `client_id` is the client that requested it. Returns the Set-Cookie headers that delete its cookies. */
export async function endSession(
  app: App,
  request: Request,
  signedIn: SignedIn | undefined,
  client_id?: string,
): Promise<string[]> {
  if (signedIn) {
    const actor = { actor_id: signedIn.user.id, ...sentBy(request) }
    const event = newAuditEvent(app, { ...actor, action: 'user_logout', client_id })
    await app.store.recorded('deleteSession', { id: signedIn.session.id }, event)
  }
  return [sessionName(app), nonceName(app)].map((name) => setCookie(app, name, '', 0))
}

const SESSION_FORM = 'session form'
/** The CSRF token of a session for one purpose. */
export const sessionToken = (app: App, { session }: SignedIn, purpose: string): string =>
  app.sealer.mac(SESSION_FORM, `${session.id} ${purpose}`)

/** Whether a token is one of these MACs. */
const isOneOf = (macs: readonly string[], token: string): boolean => macs.some((mac) => equalSecrets(mac, token))

const NONCE_AGE_SECONDS = 12 * 3600
/** The name of a cookie with the `__Host-` prefix, which prevents sibling domains from setting it (RFC 6265bis §4.1.3). */
export const hostCookie = (app: App, name: string): string => `${app.config.session.secure ? '__Host-' : ''}${name}`
/** The session cookie has the configured name. It has the prefix in production only, because localhost has no sibling domains. */
const sessionName = (app: App) => {
  const { cookie_name } = app.config.session
  return isProduction(app.config) ? hostCookie(app, cookie_name) : cookie_name
}
const nonceName = (app: App) => hostCookie(app, 'service_login_nonce')
const NONCE = /^[A-Za-z0-9_-]{43}$/

/** The CSRF token of the login form, with its cookie. The tabs of a browser share one cookie. */
export function loginToken(app: App, request: RequestHead): { token: string; cookie: string } {
  const known = cookieOf(request, nonceName(app))
  const nonce = known && NONCE.test(known) ? known : newSecret()
  return {
    token: app.sealer.mac('login form', nonce),
    cookie: setCookie(app, nonceName(app), nonce, NONCE_AGE_SECONDS),
  }
}

/** Whether a submitted login form has the CSRF token of this browser. */
export function isLoginToken(app: App, request: RequestHead, token: string | undefined): boolean {
  const nonce = cookieOf(request, nonceName(app))
  return nonce !== undefined && token !== undefined && isOneOf(app.sealer.macs('login form', nonce), token)
}

/** Whether a browser sent the request: browsers send a header that pages can neither set nor remove (Fetch Metadata §2.1). */
export const isFromBrowser = (request: RequestHead): boolean => request.headers['sec-fetch-dest'] !== undefined

/** Checks the CSRF token of a form. Throws access_denied. */
export function checkForm(app: App, request: RequestHead, signedIn: SignedIn, purpose: string, token = ''): void {
  const macs = app.sealer.macs(SESSION_FORM, `${signedIn.session.id} ${purpose}`)
  if (!isForeign(app, request) && isOneOf(macs, token)) return
  throw new OAuthError('access_denied', 'this form does not belong to your session', { reason: 'bad_form' })
}

/** A Set-Cookie header with the configured attributes. `sameSite` overrides the SameSite attribute of the session cookie. */
export function setCookie(
  app: App,
  name: string,
  value: string,
  maxAge: number,
  sameSite = app.config.session.same_site,
): string {
  const attribute = { lax: 'Lax', strict: 'Strict', none: 'None' }[sameSite]
  return `${name}=${value}; Path=/; Max-Age=${Math.floor(maxAge)}; HttpOnly; SameSite=${attribute}${app.config.session.secure ? '; Secure' : ''}`
}
