// Notifies clients that an approval is decided (CIBA Core §10.2, ping). A notification is sent once, and says no more than that the client may
// poll: one that is lost costs the client nothing but time.
import type { App } from '../context.ts'
import { OAuthError } from '../lib/error.ts'
import { FetchError } from '../net/error.ts'
import { authReqIdOf } from '../oauth/sign_in/approval.ts'
import { sealerFor } from '../oauth/sign_in/pending_value.ts'
import type { Client } from '../records/client.ts'
import type { PolledRequest } from '../records/polled_request.ts'
import { checkReceiverUrl, TO_RECEIVER } from './receiver_url.ts'

/** Notifications in flight. Further ones are not sent. */
const MAX_RUNNING = 256

/** Notifies the client of a decided request, if it asked for that. The decision does not wait for it. */
export function notifyDecided(app: App, client: Client | undefined, polled: PolledRequest): void {
  const { backchannel_token_delivery_mode: mode, backchannel_client_notification_endpoint: url } = client ?? {}
  if (mode !== 'ping' || url === undefined || polled.approval?.notification === undefined) return
  if (app.pings.size >= MAX_RUNNING) {
    count(app, 'dropped')
    return
  }
  const { client_id } = polled
  const work = attempt(app, url, polled)
    .then((fault) => {
      count(app, fault === undefined ? 'delivered' : 'failed')
      if (fault !== undefined) app.log.info({ client_id, reason: fault }, 'a client did not accept a notification')
    })
    .catch((error: unknown) => app.log.warn({ err: error, client_id }, 'a client could not be notified'))
    .finally(() => app.pings.delete(work))
  app.pings.add(work)
}

const count = ({ metrics }: App, result: 'delivered' | 'failed' | 'dropped'): void =>
  metrics.count('ext_event_deliveries_total', { kind: 'ping', result })

/** Returns what went wrong. */
async function attempt(app: App, url: string, polled: PolledRequest): Promise<string | undefined> {
  const auth_req_id = authReqIdOf(app, polled)
  const { token } = (auth_req_id && (await sealerFor(auth_req_id).open(polled.approval?.notification ?? ''))) || {}
  if (typeof token !== 'string') return 'the session secret of the request was removed'
  const { pingFetcher: fetcher } = app
  try {
    checkReceiverUrl(app.config, url, 'ciba')
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
    const { status } = await fetcher.fetch(url, { ...TO_RECEIVER, headers, body: JSON.stringify({ auth_req_id }) })
    return status >= 200 && status < 300 ? undefined : `HTTP ${status}`
  } catch (error) {
    if (!(error instanceof FetchError || error instanceof OAuthError)) throw error
    return error.message
  }
}
