// Where a form comes from. Every form for users, and every request that changes something for a cookie, is checked here.
import type { App } from '../context.ts'
import type { RequestHead } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { isCrossSite } from '../lib/url.ts'

/**
 * Whether a browser says that a page of another origin sent the request: with Sec-Fetch-Site, or with Origin if the browser does not send
 * that. Pages of this service have no referrer, and then older browsers send `Origin: null` (Fetch §3.2.5), so that value says nothing.
 */
export function isForeign({ config }: Pick<App, 'config'>, request: RequestHead): boolean {
  const { 'sec-fetch-site': site, origin, host = '' } = request.headers
  if (site !== undefined || origin === undefined || origin === 'null') return isCrossSite(request)
  const own = new URL(config.server.issuer)
  if (origin === own.origin) return false
  // The listener may have further names. A page of http at the name of the issuer is not one of them.
  const isFurtherName = host.toLowerCase() !== own.host
  return !isFurtherName || !URL.canParse(origin) || new URL(origin).host !== host.toLowerCase()
}

/** The refusal of a request that another site makes, for a caller that is not shown a page. */
export const crossSite = (): OAuthError =>
  new OAuthError('access_denied', 'cross-site requests are not allowed', { reason: 'cross_site' })

/** Whether a page of this origin led to a page, or the browser does not say. A link from elsewhere must not say that something was done. */
export const isFromHere = ({ headers }: RequestHead): boolean =>
  ['same-origin', undefined].includes(headers['sec-fetch-site'])

/** Whether a browser sends cookies. Every page with a form sets one. */
export const hasCookies = ({ headers }: RequestHead): boolean => (headers.cookie ?? '') !== ''
