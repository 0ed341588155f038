// The Prometheus endpoint: a path of one listener, without authentication.
import type { App } from '../context.ts'
import type { RequestHead } from '../http/message.ts'
import type { Route } from '../http/route.ts'
import { isCrossSite } from '../lib/url.ts'
import { crossSite } from './origin.ts'

/** The route of the Prometheus endpoint; none when it belongs to the other listener or is disabled. */
export function scrapeRoutes({ config, scrape }: Pick<App, 'config' | 'scrape'>, on: 'admin' | 'public'): Route[] {
  const { provider, path, listener } = config.observability.metrics
  if (listener !== on || (provider !== 'prometheus' && provider !== 'both')) return []
  const handle = async () => {
    const { type, text } = await scrape()
    return { status: 200, headers: { 'content-type': type, 'cache-control': 'no-store' }, body: text }
  }
  return [{ method: 'GET', path, unlimited: true, guard: refuseCrossSite, handle }]
}

/** Refuses requests of other web sites: a page that an operator has open could otherwise scrape continuously. */
function refuseCrossSite(head: RequestHead): undefined {
  if (isCrossSite(head)) throw crossSite()
}
