// The limits of single clients: `limits` of a client, otherwise `rate_limit.per_client_*`, and its share of the limit on all requests. A request counts only if it proves that it comes from
// the client. Otherwise every caller that knows the client_id could use up the limits of the client.
import type { App } from '../../context.ts'
import type { ClientLimit, ClientTake, ReachedLimit } from '../../http/client_limiter.ts'
import { slowDown } from '../../lib/error.ts'
import type { Client } from '../../records/client.ts'
import { isPublic } from './client_metadata.ts'

/** The limit of a client; 0 is none. `rate_limit.enabled` disables only the limits of the configuration, not the `limits` of a client. */
function limitOf({ rate_limit }: App['config'], { limits }: Client, name: ClientLimit): number {
  const own = limits?.[name]
  if (own !== undefined) return own
  if (!rate_limit.enabled) return 0
  return name === 'tokens_per_day' ? rate_limit.per_client_tokens_per_day : rate_limit.per_client_requests_per_second
}

/** Counts a request of a client that has authenticated. A public client does not authenticate, so its request is counted together with its token. Throws slow_down. */
export function takeRequest(app: App, client: Client): void | Promise<void> {
  if (isPublic(client)) return
  takeShare(app, client)
  const requests_per_second = limitOf(app.config, client, 'requests_per_second')
  if (requests_per_second > 0) return take(app, { client_id: client.client_id, requests_per_second })
}

/** Counts the token that a grant has allowed. A public client is identified by the code or token that it sent. Throws slow_down. */
export function takeToken(app: App, client: Client): void | Promise<void> {
  if (isPublic(client)) takeShare(app, client)
  const tokens_per_day = limitOf(app.config, client, 'tokens_per_day')
  const requests_per_second = isPublic(client) ? limitOf(app.config, client, 'requests_per_second') : 0
  if (tokens_per_day > 0 || requests_per_second > 0)
    return take(app, { client_id: client.client_id, requests_per_second, tokens_per_day })
}

/** Returns a token that could not be issued. */
export function giveBackToken(app: App, client: Client): void {
  if (limitOf(app.config, client, 'tokens_per_day') > 0) app.clientLimiter.giveBackToken(client.client_id)
}

/** While others send requests, too, one client has a share of what all may send, from however many addresses it comes. */
function takeShare({ config, clientShare }: App, { client_id, limits }: Client): void {
  // An operator has decided what this client may take.
  if (!config.rate_limit.enabled || limits?.requests_per_second !== undefined) return
  const wait = clientShare.take(client_id)
  if (wait > 0) throw slowDown(wait, SHARE_USED, 'client_share', about(client_id))
}

function take({ clientLimiter }: App, wanted: ClientTake): void | Promise<void> {
  const reached = clientLimiter.take(wanted)
  if (reached instanceof Promise) return reached.then((reached) => refuse(wanted, reached))
  refuse(wanted, reached)
}

function refuse(wanted: ClientTake, reached: ReachedLimit | undefined): void {
  if (!reached) return
  const text =
    reached.limit === 'tokens_per_day'
      ? `the client has reached its limit of ${wanted.tokens_per_day} tokens per day`
      : `the client may send ${wanted.requests_per_second} requests per second`
  throw slowDown(reached.wait, text, `client_${reached.limit}`, about(wanted.client_id))
}

const SHARE_USED = 'the client uses its share of the requests that the service allows'
const about = (client_id: string) => ({ about: { client_id }, uncounted: true })
