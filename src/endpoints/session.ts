// Browser sessions: an encrypted cookie names a row in the store. Deleting the row ends the session.

import { isProduction } from '../config/rule.ts'
import type { App } from '../context.ts'
import { cookieOf, type Request, type RequestHead } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { equalSecrets, isId, newId } from '../lib/id.ts'
import { type AuditActor, newAuditEvent, sentBy } from '../oauth/audit.ts'
import { type BrowserKey, browserKey } from '../oauth/sign_in/pending_login.ts'
import { loginForOf } from '../oauth/sign_in/required_login.ts'
import { needsFactor } from '../oauth/sign_in/second_factor.ts'
import type { AuditEvent } from '../records/audit_event.ts'
import type { Session } from '../records/session.ts'
import { hasTwoFactors } from '../records/sign_in.ts'
import type { ResultOf } from '../store/operations.ts'
import { isForeign } from './origin.ts'

/** A session that has not expired, with its active user. */
export type SignedIn = NonNullable<ResultOf<'findSession'>> & {
  /** The authorization request that the login was made for. */
  login_for?: string
  /** The key of the browser, if it has one. It lasts longer than the session. */
  browser?: string
}

/** The signed-in user of a request, for the audit trail. */
export const actorOf = (request: Request, { user }: SignedIn): AuditActor => ({ actor_id: user.id, ...sentBy(request) })

/**
 * The session of the browser that sent a request. Undefined also while it lacks the second factor that its user needs: only the page that
 * adds one, and the sign-in, use such a session.
 */
export async function findSignedIn(app: App, request: Request): Promise<SignedIn | undefined> {
  const found = await findAnySession(app, request)
  if (!found || lacksFactor(app, found)) return undefined
  await noteWaiting(app, request, found)
  return found
}

/** Notes how many requests of clients the person has to decide about, for the line on the pages. */
export async function noteWaiting(
  { config, store, clock }: App,
  { notes }: Request,
  { user }: SignedIn,
): Promise<void> {
  if (config.ciba.enabled) notes.waiting = await store.countOpenApprovals({ user_id: user.id, now: clock.now() })
}

/** Whether a session lacks the second factor that its user needs (`mfa.required`). */
export const lacksFactor = ({ config }: App, { user, session }: SignedIn): boolean =>
  needsFactor(config, user) && !hasTwoFactors(session)

/** The session of the browser that sent a request, also one that lacks a second factor. */
export async function findAnySession(app: App, request: RequestHead): Promise<SignedIn | undefined> {
  const cookie = cookieOf(request, sessionName(app))
  const { sid, login_for } = (cookie && (await app.sealer.open(cookie))) || {}
  if (typeof sid !== 'string' || !isId(sid)) return undefined
  const found = await app.store.findSession({ id: sid, now: app.clock.now() })
  if (found) noteSessionUse(app, found.session)
  if (!found) return undefined
  const { key, isNew } = browserOf(app, request)
  return { ...found, ...(typeof login_for === 'string' ? { login_for } : {}), ...(isNew ? {} : { browser: key }) }
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

/** How the user has signed in: with which factors, or what the upstream provider says about it. */
export type Authenticated = Pick<Session, 'oidc_issuer' | 'oidc_sid' | 'auth_time' | 'amr' | 'acr'>

interface NewSession {
  user_id: string
  /** The local path that the login returns to. */
  target: string
  how: Authenticated
  event: AuditEvent
}

/** Starts a session, with its event, and ends the previous session of the browser. Returns the Set-Cookie headers. */
export async function startSession(
  app: App,
  request: RequestHead,
  { user_id, target, how, event }: NewSession,
): Promise<string[]> {
  const { max_age } = app.config.session
  const now = app.clock.now()
  const session: Session = {
    id: newId(),
    user_id,
    created_at: now,
    expires_at: now + Math.floor(max_age),
    last_used_at: now,
    ...sentFrom(request),
    ...how,
  }
  const previous = await findAnySession(app, request)
  await Promise.all([app.store.recorded('createSession', session, event), saveUpstreamSession(app, session)])
  if (previous) {
    const { id: from } = previous.session
    // A person who only signs in again stays signed in to applications.
    if (previous.user.id === user_id)
      await app.store.moveApplications({ from, to: session.id, expires_at: session.expires_at })
    await app.store.deleteSession({ id: from })
  }
  const sealed = await app.sealer.seal({ sid: session.id, login_for: loginForOf(target) })
  const { cookie, isNew } = browserOf(app, request)
  return [setCookie(app, sessionName(app), sealed, max_age), ...(isNew ? [cookie] : [])]
}

/** Records the session at the provider for as long as refresh tokens that the user grants in this session can live unused. */
async function saveUpstreamSession(app: App, session: Session): Promise<void> {
  const { oidc_issuer: issuer, oidc_sid: sid, user_id, expires_at } = session
  if (issuer === undefined || sid === undefined) return
  await app.store.saveFederatedSession({
    id: newId(),
    issuer,
    sid,
    user_id,
    expires_at: expires_at + app.config.dcr.default_refresh_expiry,
  })
}

const MAX_USER_AGENT = 512
/** The program and the address that sent a request, as the account page and the page of a device show them. Browsers send printable ASCII characters only. */
export const sentFrom = ({ headers, remote }: RequestHead): Pick<Session, 'user_agent'> & { ip: string } => ({
  user_agent: headers['user-agent']?.replace(/[^\x20-\x7e]/g, '').slice(0, MAX_USER_AGENT),
  ip: remote,
})

/** Ends a session, with its event. `client_id` is the client that requested it. Returns the Set-Cookie header that deletes its cookie. */
export async function endSession(
  app: App,
  request: Request,
  signedIn: SignedIn | undefined,
  client_id?: string,
): Promise<string> {
  if (signedIn) {
    const event = newAuditEvent(app, { ...actorOf(request, signedIn), action: 'user_logout', client_id })
    await app.store.recorded('deleteSession', { id: signedIn.session.id }, event)
  }
  return setCookie(app, sessionName(app), '', 0)
}

const FORM = 'session form'
/**
 * What the CSRF tokens of a person's forms are made for: the person in this browser, so that a form stays valid when the session is
 * replaced or ends. The session takes the place of the browser where the browser has no key yet.
 */
const formsOf = ({ session, user, browser }: SignedIn): [string, ...string[]] =>
  browser === undefined ? [session.id] : [`${browser} ${user.id}`, session.id]

/** The CSRF token of a form of a signed-in person for one purpose. */
export const formToken = (app: App, signedIn: SignedIn, purpose: string): string =>
  app.sealer.mac(FORM, `${formsOf(signedIn)[0]} ${purpose}`)

/** Whether a token is that of a form of this person in this browser. */
export const isFormToken = (app: App, signedIn: SignedIn, purpose: string, token = ''): boolean =>
  isOneOf(
    formsOf(signedIn).flatMap((owner) => app.sealer.macs(FORM, `${owner} ${purpose}`)),
    token,
  )

/** Whether a token is one of these MACs. */
const isOneOf = (macs: readonly string[], token: string): boolean => macs.some((mac) => equalSecrets(mac, token))

/** The name of a cookie with the `__Host-` prefix, which prevents sibling domains from setting it (RFC 6265bis §4.1.3). */
export const hostCookie = (app: App, name: string): string => `${app.config.session.secure ? '__Host-' : ''}${name}`
/** The session cookie has the configured name. It has the prefix in production only, because localhost has no sibling domains. */
const sessionName = (app: App) => {
  const { cookie_name } = app.config.session
  return isProduction(app.config) ? hostCookie(app, cookie_name) : cookie_name
}

/** A Set-Cookie header of a cookie that browsers also send when they come from another site, from a provider or an application. */
export const crossSiteCookie = (app: App, name: string, value: string, maxAge: number): string =>
  setCookie(app, name, value, maxAge, app.config.session.same_site === 'none' ? 'none' : 'lax')

/**
 * The key of a browser. Its cookie survives sign-ins, sign-outs and the ends of sessions. The tabs of a browser share it, and what a page
 * needs later is bound to it: its forms, pending requests, and sign-ins at providers.
 */
export const browserOf = (app: App, request: RequestHead): BrowserKey =>
  browserKey(request, hostCookie(app, 'service_login_nonce'), (...cookie) => crossSiteCookie(app, ...cookie))

/** The CSRF token of the login form. */
export const loginToken = (app: App, { key }: BrowserKey): string => app.sealer.mac('login form', key)

/**
 * Whether a login form is a page of this service in this browser: by its CSRF token, or by the header of the browser. Of tabs that were
 * opened at the same time, the first ones have tokens for keys that the last one replaced.
 */
export function isOwnLogin(app: App, request: RequestHead, token: string | undefined): boolean {
  const { key, isNew } = browserOf(app, request)
  if (isNew || token === undefined) return false
  return isOneOf(app.sealer.macs('login form', key), token) || request.headers['sec-fetch-site'] === 'same-origin'
}

/** Whether a browser sent the request: browsers send a header that pages can neither set nor remove (Fetch Metadata §2.1). */
export const isFromBrowser = (request: RequestHead): boolean => request.headers['sec-fetch-dest'] !== undefined

/** Checks the CSRF token of a form. Throws access_denied. */
export function checkForm(app: App, request: RequestHead, signedIn: SignedIn, purpose: string, token?: string): void {
  if (!isForeign(app, request) && isFormToken(app, signedIn, purpose, token)) return
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
