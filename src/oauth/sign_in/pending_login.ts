// A pending sign-in at an upstream provider. It is stored, encrypted with a key that only the browser has, so that only the same browser can
// complete it. While an address has no room for more of them, a short one is in an encrypted cookie.
import type { App, OidcLogin } from '../../context.ts'
import { cookieOf, parseCookies, type RequestHead } from '../../http/message.ts'
import { slowDown } from '../../lib/error.ts'
import { equalSecrets, newId, newSecret } from '../../lib/id.ts'
import { DAY } from '../../lib/time.ts'
import { consumeOnce } from '../tokens/single_use.ts'
import { findValue, keepValue } from './pending_value.ts'

export interface PendingLogin extends OidcLogin {
  /** The slug of the provider. */
  provider: string
  /** The local path to redirect to after the sign-in. */
  target: string
  /** The person must sign in again at the provider. Undefined in one that an older instance started. */
  reauthenticate?: boolean
  /** The name of its cookie. It is different for each listener, so that a sign-in to the account pages does not sign in to the admin page. */
  cookie: string
  /** When the pending sign-in expires. */
  until: number
}

/** The key of a browser. */
export interface BrowserKey {
  /** The value of a cookie that lasts longer than sessions. */
  key: string
  /** The Set-Cookie header with which the browser keeps it for another day. */
  cookie: string
  /** The browser does not have it yet. */
  isNew: boolean
}

const KEY_AGE_SECONDS = DAY
const KEY = /^[A-Za-z0-9_-]{43}$/

/** The key of the browser that sent a request, which is in a cookie, or a new one. */
export function browserKey(request: RequestHead, name: string, write: PendingPlace['cookies']['write']): BrowserKey {
  const known = cookieOf(request, name)
  const isNew = known === undefined || !KEY.test(known)
  const key = isNew ? newSecret() : known
  return { key, cookie: write(name, key, KEY_AGE_SECONDS), isNew }
}

/** Where the browsers of one listener keep what belongs to their pending sign-ins. */
export interface PendingPlace {
  browserOf(request: RequestHead): BrowserKey
  cookies: {
    /** How their names begin. */
    prefix: string
    /** A Set-Cookie header. */
    write(name: string, value: string, maxAge: number): string
  }
}

const LIFETIME_SECONDS = 600
/** Maximum number of cookies with pending sign-ins. They are sent with every request, and request headers are limited to 16 KB. */
const MAX_COOKIES = 3
/** Maximum length of a target in a cookie, so that the cookie does not exceed its size limit. */
const MAX_CARRIED = 2048
const ID_LENGTH = 22

/** Each pending sign-in has a name of its own, made of its state, so that tabs do not interfere with each other. */
const cookieName = ({ cookies }: PendingPlace, state: string) => cookies.prefix + state.slice(0, ID_LENGTH - 6)

/** Starts a sign-in that redirects to `target` when it completes. Returns it with the Set-Cookie headers. Throws slow_down. */
export async function startPendingLogin(
  app: App,
  request: RequestHead,
  place: PendingPlace,
  started: Pick<PendingLogin, 'provider' | 'target' | 'reauthenticate' | 'redirect_uri'>,
): Promise<{ login: PendingLogin; set: string[] }> {
  const id = newId()
  const secrets = { state: id + newSecret(), nonce: newSecret(), verifier: newSecret() }
  const until = app.clock.now() + LIFETIME_SECONDS
  const login = { ...secrets, ...started, cookie: cookieName(place, secrets.state), until }
  const { key, cookie } = place.browserOf(request)
  const wait = await keepValue(app, request.remote, { id, key, value: login })
  if (wait === 0) return { login, set: [cookie] }
  if (started.target.length > MAX_CARRIED)
    throw slowDown(wait, 'too many sign-ins were started, from your address or in total', 'oidc_too_many_started')
  return { login, set: await carried(app, request, place, login) }
}

/** The Set-Cookie headers that carry a pending sign-in. */
async function carried(
  app: App,
  request: RequestHead,
  { cookies }: PendingPlace,
  login: PendingLogin,
): Promise<string[]> {
  const others = parseCookies(request).flatMap(([name]) => (name.startsWith(cookies.prefix) ? [name] : []))
  const dropped = others.slice(0, Math.max(0, others.length + 1 - MAX_COOKIES))
  const sealed = await app.sealer.seal(login)
  return [...dropped.map((name) => cookies.write(name, '', 0)), cookies.write(login.cookie, sealed, LIFETIME_SECONDS)]
}

/** The pending sign-in of this browser that a state belongs to, which may have expired. */
export async function findPendingLogin(
  app: App,
  request: RequestHead,
  place: PendingPlace,
  state: string | undefined,
): Promise<PendingLogin | undefined> {
  if (state === undefined) return undefined
  const name = cookieName(place, state)
  const sealed = cookieOf(request, name)
  const found = sealed
    ? await app.sealer.open(sealed)
    : await findValue(app, state.slice(0, ID_LENGTH), place.browserOf(request).key)
  const login: Partial<PendingLogin> = found ?? {}
  const isValid = login.cookie === name && login.until !== undefined && equalSecrets(login.state ?? '', state)
  return isValid ? (login as PendingLogin) : undefined
}

/** Consumes a pending sign-in. False when it was consumed before: a browser may send its request again. */
export const consumePendingLogin = (app: App, { provider, state, until }: PendingLogin): Promise<boolean> =>
  consumeOnce(app, 'oidc_state', provider, state, until)

/** The Set-Cookie header that deletes the cookie of a pending sign-in. */
export const clearPendingLogin = ({ cookies }: PendingPlace, { cookie }: PendingLogin): string =>
  cookies.write(cookie, '', 0)
