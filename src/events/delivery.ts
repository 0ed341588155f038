// One attempt to send an event to a receiver, with the HTTP client that checks addresses.
import { createHmac } from 'node:crypto'
import type { Config } from '../config/schema.ts'
import type { App } from '../context.ts'
import { clip } from '../lib/bounded.ts'
import { userAgent } from '../lib/build.ts'
import { OAuthError } from '../lib/error.ts'
import { lookUpName } from '../lib/system_names.ts'
import { FetchError } from '../net/error.ts'
import { createFetcher } from '../net/fetch.ts'
import type { Fetcher, FetchRequest } from '../net/fetcher.ts'
import { createPublicNames } from '../net/public_names.ts'
import { AUDIT_ACTIONS } from '../oauth/audit_events.ts'
import type { AuditEvent } from '../records/audit_event.ts'
import { type EventReceiver, MAX_RECEIVERS, type MadeAttempt } from '../records/event_receiver.ts'
import { webhookBody } from './event_json.ts'
import { checkReceiverUrl, receiverRules, TO_RECEIVER } from './receiver_url.ts'
import { signSecurityEvent } from './security_event_token.ts'
import { STREAM_ACTIONS, securityEvents } from './security_events.ts'
import { openPushHeader, openSigningSecrets } from './signing_secret.ts'
import { matchesAction } from './webhook_actions.ts'

const SHOWN_CHARS = 500

/** Longer than the interval between two rounds of the sender, and shorter than servers usually keep an idle connection. */
const KEEP_MS = 1000

/** The HTTP client that sends events. Every receiver may have a request in flight, so that slow receivers do not delay others. */
export function openEventFetcher(config: Config): Fetcher {
  const rules = receiverRules(config, 'events')
  // Resource servers choose the hosts of their streams. The system resolves two names at a time, so a name server that does not answer could
  // delay every other part of the service. Only names that operators list are resolved by the system.
  const publicNames = createPublicNames({ readsHosts: () => true })
  return createFetcher({
    ...rules,
    resolve: (hostname) => (rules.hosts?.names(hostname) ? lookUpName(hostname) : publicNames(hostname)),
    userAgent: userAgent(),
    maxTotal: MAX_RECEIVERS,
    maxPerHost: MAX_RECEIVERS,
    keepMs: KEEP_MS,
  })
}

type EventRequest = Pick<FetchRequest, 'headers' | 'body' | 'accept'>

/** The headers of one attempt: an id, the time, and one signature for each valid secret (Standard Webhooks). `id` is the same at every attempt. */
function webhookHeaders(id: string, seconds: number, body: string, secrets: readonly string[]) {
  const signed = `${id}.${seconds}.${body}`
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': secrets.map((secret) => `v1,${signatureOf(secret, signed)}`).join(' '),
  }
}

const signatureOf = (secret: string, signed: string): string =>
  createHmac('sha256', Buffer.from(secret.replace(/^whsec_/, ''), 'base64'))
    .update(signed)
    .digest('base64')

interface ReceiverKind {
  /** Whether an audit action concerns a receiver. */
  concerns(receiver: EventReceiver, action: string): boolean
  /** The requests that send an event, in order. Empty when the event causes no security event for the receiver. */
  requests(app: App, receiver: EventReceiver, event: AuditEvent): Promise<EventRequest[]>
}

const KINDS: Readonly<Record<EventReceiver['kind'], ReceiverKind>> = {
  webhook: {
    concerns: ({ events }, action) => matchesAction(events, action),
    async requests(app, receiver, event) {
      const body = webhookBody(event, app.config.events.include_pii)
      const secrets = (await openSigningSecrets(app, receiver)).map(({ secret }) => secret)
      return [{ headers: webhookHeaders(event.id, app.clock.now(), body, secrets), body }]
    },
  },
  stream: {
    concerns: (_, action) => STREAM_ACTIONS.some((each) => each === action),
    async requests(app, receiver, event) {
      const found = await securityEvents(app, receiver, event)
      const authorization = found.length > 0 ? await openPushHeader(app, receiver) : ''
      const headers = { 'content-type': 'application/secevent+jwt', ...(authorization ? { authorization } : {}) }
      return Promise.all(
        found.map(async (each) => ({
          headers,
          accept: 'application/json',
          body: await signSecurityEvent(app, receiver, event, each),
        })),
      )
    },
  },
}

/** The audit actions that concern a receiver. */
export const wantedActions = (receiver: EventReceiver): readonly string[] =>
  AUDIT_ACTIONS.filter((action) => KINDS[receiver.kind].concerns(receiver, action))

/** Whether an event concerns a receiver. The time is compared because events after the start place of a receiver may be older than the receiver. */
export const wants = (receiver: EventReceiver, event: AuditEvent): boolean =>
  event.created_at >= receiver.created_at && KINDS[receiver.kind].concerns(receiver, event.action)

/** Whether an event is too old to be sent. */
export const isExpired = ({ clock, config }: App, { created_at }: AuditEvent): boolean =>
  created_at < clock.now() - config.events.retention

/** Sends an event once. Never rejects: a failure is returned as an attempt with an error. Undefined when there is nothing to send. */
export async function attemptDelivery(
  app: App,
  receiver: EventReceiver,
  event: AuditEvent,
): Promise<MadeAttempt | undefined> {
  const about = { event_id: event.id, type: event.action, at: app.clock.now() }
  try {
    const requests = await KINDS[receiver.kind].requests(app, receiver, event)
    let last: Answer | undefined
    for (const request of requests) {
      last = await send(app, receiver.url ?? '', request)
      if (last.status < 200 || last.status > 299) return { ...about, ...last, error: `HTTP ${last.status}` }
    }
    return last && { ...about, ...last }
  } catch (error) {
    if (!(error instanceof FetchError || error instanceof OAuthError))
      app.log.error({ err: error, receiver_id: receiver.id }, 'an event could not be sent')
    return { ...about, error: error instanceof Error ? error.message : String(error) }
  }
}

type Answer = Required<Pick<MadeAttempt, 'status' | 'response'>>
async function send({ config, eventFetcher: fetcher }: App, url: string, request: EventRequest): Promise<Answer> {
  // The configuration may have changed since the URL was accepted.
  checkReceiverUrl(config, url)
  const { status, body } = await fetcher.fetch(url, { ...TO_RECEIVER, ...request })
  return { status, response: clip(body.toString(), SHOWN_CHARS) }
}
