// The URLs of the pages of this service, as browsers see them: below the path of the issuer, if it has one.
import type { App } from '../../context.ts'
import { type Reply, type RequestHead, redirect } from '../../http/message.ts'
import { OAuthError } from '../../lib/error.ts'
import { newBearer, parseBearer } from '../../lib/id.ts'
import { findValue, keepValue } from '../../oauth/sign_in/pending_value.ts'
import { findAnySession, lacksFactor } from '../session.ts'

/** The path of the account page. */
export const ACCOUNT_PATH = '/account'

/** The path of the page on which people decide about approvals. */
export const REQUESTS_PATH = `${ACCOUNT_PATH}/requests`

/** The path of the page that adds second factors. */
export const FACTOR_PATH = '/second-factor'

/** The path of the issuer without a trailing slash: empty for most. */
export const basePath = (app: App): string => new URL(app.config.server.issuer).pathname.replace(/\/$/, '')

/** A target as the login page takes it, without the path of the issuer. */
export const placeOfTarget = (app: App, target: string): string => target.slice(basePath(app).length)

/** The path and query of a request, to return to it. */
export const pathAndQuery = ({ path, query }: RequestHead): string => (query ? `${path}?${query}` : path)

/** Maximum length of the target in the URL of the login page. Proxies accept URLs of eight kilobytes, and the links of the page repeat the target. */
const MAX_CARRIED = 4096
/** The prefix of a target that is stored, because it is too long. */
const STORED = 'st'

/**
 * The URL of the login page, which leads back to a page of this service. With `again` the provider must ask the user to sign in again.
 * Throws temporarily_unavailable when the target must be stored, and its address has no room left.
 */
export async function loginUrl(app: App, request: RequestHead, place: string, again = false): Promise<string> {
  const query = new URLSearchParams({
    redirect: await carried(app, request, place),
    ...(again ? { prompt: 'login' } : {}),
  })
  return `${basePath(app)}/login?${query}`
}

/** A place as a link carries it: the place itself, or the name of the one that is stored. */
const carried = async (app: App, request: RequestHead, place: string): Promise<string> =>
  encodeURIComponent(place).length > MAX_CARRIED ? storeTarget(app, request, place) : place

/** Redirects to the page that adds a second factor and leads back to a page of this service. Throws as loginUrl() does. */
export const toFactor = async (app: App, request: RequestHead, place: string): Promise<Reply> =>
  redirect(`${basePath(app)}${FACTOR_PATH}?${new URLSearchParams({ redirect: await carried(app, request, place) })}`)

/** Redirects to the login page; a person who is signed in and has no second factor yet, though one is required, to the page that adds one. */
export async function toLogin(app: App, request: RequestHead, place: string, again = false): Promise<Reply> {
  const found = await findAnySession(app, request)
  const lacks = found !== undefined && lacksFactor(app, found)
  if (lacks && (await app.store.listFactors({ user_id: found.user.id })).length === 0)
    return toFactor(app, request, place)
  return redirect(await loginUrl(app, request, place, again))
}

/** Stores a target. The returned text is enough to read it, as it is with the target itself. */
async function storeTarget(app: App, { remote }: RequestHead, target: string): Promise<string> {
  const { id, value: key } = newBearer(STORED)
  const wait = await keepValue(app, remote, { id, key, value: { target } })
  if (wait === 0) return key
  throw new OAuthError(
    'temporarily_unavailable',
    'too many long requests wait for a sign-in, from your address or in total',
    {
      reason: 'too_many_long_requests',
      status: 429,
      headers: { 'retry-after': String(wait) },
    },
  )
}

/**
 * The target in the `redirect` parameter of the login page: a local path, or one that was stored. Throws invalid_request when the stored one
 * has expired: a sign-in would then end at the account page, and the application would wait.
 */
export async function readTarget(app: App, text: string | undefined): Promise<string | undefined> {
  const stored = text === undefined ? undefined : parseBearer(STORED, text)
  if (!stored) return text
  const { target } = (await findValue(app, stored.id, stored.value)) ?? {}
  if (typeof target === 'string') return target
  throw new OAuthError('invalid_request', 'the request that waits for this sign-in has expired', {
    reason: 'waiting_request_expired',
  })
}

/** The local path to redirect to after the login; the account page if the target is not on this service. */
export function safeRedirect(app: App, target: string | undefined): string {
  const { issuer } = app.config.server
  const fallback = basePath(app) + ACCOUNT_PATH
  // In a path a backslash is a slash to browsers. A query may have it.
  if (!target || !/^\/(?![/\\])[^\\\s?#]*(?:[?#]\S*)?$/.test(target) || !URL.canParse(target, issuer)) return fallback
  const url = new URL(target, issuer)
  // Without its dot segments a path may begin with two slashes, which name a host: `/.//evil.example`.
  const isOurs = url.origin === new URL(issuer).origin && !url.pathname.startsWith('//')
  return isOurs ? `${basePath(app)}${url.pathname}${url.search}` : fallback
}
