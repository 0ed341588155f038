// Where Prometheus scrapes: a path of one listener, without a key.
import type { App } from '../context.ts'
import type { RequestHead } from '../http/message.ts'
import type { Route } from '../http/route.ts'
import { OAuthError } from '../lib/error.ts'
import { isCrossSite } from '../lib/url.ts'

/** The route of the scrape, where this listener has it. */
export function scrapeRoutes({ config, scrape }: Pick<App, 'config' | 'scrape'>, on: 'admin' | 'public'): Route[] {
  const { provider, path, listener } = config.observability.metrics
  if (listener !== on || (provider !== 'prometheus' && provider !== 'both')) return []
  const handle = async () => {
    const { type, text } = await scrape()
    return { status: 200, headers: { 'content-type': type, 'cache-control': 'no-store' }, body: text }
  }
  return [{ method: 'GET', path, unlimited: true, guard: refuseOtherSites, handle }]
}

/** A page that an operator has open could have the browser scrape all day. */
function refuseOtherSites(head: RequestHead): void {
  if (isCrossSite(head))
    throw new OAuthError('access_denied', 'this request came from another site', { reason: 'cross_site' })
}
