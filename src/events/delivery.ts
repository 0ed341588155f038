// One attempt to send an event to a receiver, by the guarded client.
import type { Config } from '../config/schema.ts'
import type { App } from '../context.ts'
import { userAgent } from '../lib/build.ts'
import { OAuthError } from '../lib/error.ts'
import { FetchError } from '../net/error.ts'
import { createFetcher } from '../net/fetch.ts'
import type { Fetcher, FetchReply, FetchRequest } from '../net/fetcher.ts'
import type { AuditEvent } from '../records/audit_event.ts'
import { type DeliveryAttempt, type EventReceiver, MAX_RECEIVERS } from '../records/event_receiver.ts'
import { webhookBody } from './event_json.ts'
import { checkReceiverUrl, receiverRules } from './receiver_url.ts'
import { openSigningSecrets } from './signing_secret.ts'
import { webhookHeaders } from './standard_webhooks.ts'
import { actionsOf } from './webhook_actions.ts'

/** The body of the response is not used. A longer one is an error, so that no receiver occupies memory. */
const LIMITS = { maxBytes: 64 * 1024, timeoutMs: 10_000, allowHttp: true } as const

/** The client for events. Every receiver may have a request in flight, so that slow ones do not delay others. */
export const openEventFetcher = (config: Config): Fetcher =>
  createFetcher({
    ...receiverRules(config),
    userAgent: userAgent(),
    maxTotal: MAX_RECEIVERS,
    maxPerHost: MAX_RECEIVERS,
  })

/** Whether a receiver wants an event. The place where a receiver begins may be before events that are older than itself. */
export const wants = (receiver: EventReceiver, event: AuditEvent): boolean =>
  event.created_at >= receiver.created_at && actionsOf(receiver.events).some((action) => action === event.action)

/** Sends an event once. Never rejects: a failure is an attempt with an error. */
export async function attemptDelivery(app: App, receiver: EventReceiver, event: AuditEvent): Promise<DeliveryAttempt> {
  const { eventFetcher: fetcher } = app
  const about = { event_id: event.id, type: event.action, at: app.clock.now() }
  try {
    const url = receiver.url ?? ''
    // The configuration may have changed since the URL was accepted.
    checkReceiverUrl(app.config, url)
    const reply = await fetcher.fetch(url, { ...LIMITS, ...(await webhookRequest(app, receiver, event)) })
    return { ...about, status: reply.status, ...faultOf(reply) }
  } catch (error) {
    if (!(error instanceof FetchError || error instanceof OAuthError))
      app.log.error({ err: error, receiver_id: receiver.id }, 'an event could not be sent')
    return { ...about, error: error instanceof Error ? error.message : String(error) }
  }
}

const faultOf = ({ status }: FetchReply) => (status >= 200 && status < 300 ? {} : { error: `HTTP ${status}` })

async function webhookRequest(
  app: App,
  receiver: EventReceiver,
  event: AuditEvent,
): Promise<Pick<FetchRequest, 'method' | 'headers' | 'body'>> {
  const body = webhookBody(event, app.config.events.include_pii)
  const secrets = (await openSigningSecrets(app, receiver)).map(({ secret }) => secret)
  return { method: 'POST', headers: webhookHeaders(event.id, app.clock.now(), body, secrets), body }
}
