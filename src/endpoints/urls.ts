// The URLs of the pages of this service, as browsers see them: below the path of the issuer, if it has one.
import type { App } from '../context.ts'
import { type Reply, type RequestHead, redirect } from '../http/message.ts'

/** The path of the account page. */
export const ACCOUNT_PATH = '/account'

/** The path of the issuer without a trailing slash: empty for most. */
export const basePath = (app: App): string => new URL(app.config.server.issuer).pathname.replace(/\/$/, '')

/** The path and query of a request, to return to it. */
export const pathAndQuery = ({ path, query }: RequestHead): string => (query ? `${path}?${query}` : path)

/** What an application says about the sign-in that it wants. */
export interface SignInHints {
  login_hint?: string
  acr_values?: string
}

/** The URL of the login page, which leads back to a page of this service. With `again` the provider must ask the user to sign in again. */
export function loginUrl(app: App, place: string, again = false, { login_hint, acr_values }: SignInHints = {}): string {
  const query = new URLSearchParams({
    redirect: place,
    ...(again ? { prompt: 'login' } : {}),
    ...(login_hint ? { login_hint } : {}),
    ...(acr_values ? { acr_values } : {}),
  })
  return `${basePath(app)}/login?${query}`
}

/** Redirects to the login page. */
export const toLogin = (app: App, place: string, again = false, hints?: SignInHints): Reply =>
  redirect(loginUrl(app, place, again, hints))

/** The local path to redirect to after the login; the account page if the target is not on this service. */
export function safeRedirect(app: App, target: string | undefined): string {
  const { issuer } = app.config.server
  const fallback = basePath(app) + ACCOUNT_PATH
  if (!target || !/^\/(?![/\\])[^\\\s]*$/.test(target) || !URL.canParse(target, issuer)) return fallback
  const url = new URL(target, issuer)
  // Without its dot segments a path may begin with two slashes, which name a host: `/.//evil.example`.
  const isOurs = url.origin === new URL(issuer).origin && !url.pathname.startsWith('//')
  return isOurs ? `${basePath(app)}${url.pathname}${url.search}` : fallback
}
