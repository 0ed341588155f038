// Streams of security events (OpenID SSF 1.0 §8): the members that a receiver may set, and the JSON form of a stream.
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { issuerOf } from '../config/issuer.ts'
import type { App } from '../context.ts'
import { OAuthError } from '../lib/error.ts'
import { endpoint, listOf, text, word } from '../lib/field.ts'
import { hostRules } from '../lib/host_rule.ts'
import { newId } from '../lib/id.ts'
import type { Reason } from '../lib/reasons/index.ts'
import { parseHttpUrl } from '../lib/url.ts'
import type { AuditEvent } from '../records/audit_event.ts'
import type { EventReceiver, ReceiverSettings } from '../records/event_receiver.ts'
import { feedEnd } from './cursor.ts'
import { POLL, PUSH, STREAM_EVENTS } from './event_types.ts'
import { checkReceiverUrl } from './receiver_url.ts'
import { resourcesOf } from './security_events.ts'
import { sealReceiverSecret } from './signing_secret.ts'

/** Paths of the transmitter. */
export const SSF_PATHS = {
  streams: '/ssf/streams',
  status: '/ssf/status',
  verify: '/ssf/verify',
  poll: '/ssf/poll',
} as const

const MAX_EVENTS = 50
const delivery = z
  .object({
    method: word([PUSH, POLL]).describe('urn:ietf:rfc:8935 (push) or urn:ietf:rfc:8936 (poll).'),
    // Some receivers that poll send an empty URL.
    endpoint_url: endpoint()
      .or(z.literal(''))
      .optional()
      .describe(
        'Where events are pushed. https, unless events.allow_hosts has the host. A receiver that polls does not choose it.',
      ),
    authorization_header: text(4096)
      .regex(/^[\x20-\x7e]*$/, 'must have only ASCII characters')
      .optional()
      .describe('Authorization header of every push. It is never shown again.'),
  })
  .refine(({ method, endpoint_url }) => method === POLL || Boolean(endpoint_url), 'endpoint_url is required for push')

/** The members of a stream that its receiver sets. */
export const streamFields = {
  delivery: delivery.describe('How events are delivered. Default: poll.'),
  events_requested: listOf(text(300), { max: MAX_EVENTS }).describe(
    'URIs of event types, from events_supported. Others are ignored. Without any the stream gets no events.',
  ),
  description: text().describe('What it is for.'),
}
export const STREAM_STATUSES = ['enabled', 'paused', 'disabled'] as const

type Delivery = z.output<typeof delivery>
export interface StreamInput {
  delivery?: Delivery
  events_requested?: string[]
  description?: string
}

const refuse = (description: string, reason: Reason, code: 'access_denied' | 'conflict') =>
  new OAuthError(code, description, { reason })

/** Whether a client is on the runtime list of a resource. */
export const servesResource = async (app: App, client_id: string): Promise<boolean> =>
  (await resourcesOf(app, client_id)).length > 0

/** Throws access_denied for a client that serves no resource. */
export async function checkServesResource(app: App, client_id: string): Promise<void> {
  if (!(await servesResource(app, client_id)))
    throw refuse('the client is on the runtime list of no resource', 'not_on_runtime_list', 'access_denied')
}

/** Creates a stream for the client of a resource server, with its event. Throws invalid_request, or conflict when it has too many. */
export async function createStream(
  app: App,
  client_id: string,
  input: StreamInput,
  settings: ReceiverSettings,
  eventOf: (stream: EventReceiver) => AuditEvent,
): Promise<EventReceiver> {
  const now = app.clock.now()
  const id = `st_${newId()}`
  const blank: EventReceiver = {
    id,
    kind: 'stream',
    client_id,
    events: [],
    status: 'enabled',
    settings,
    version: 1,
    created_at: now,
    updated_at: now,
  }
  const receiver = await withInput(app, blank, input)
  const start = (await feedEnd(app.store)) - 1
  const outcome = await app.store.recorded('createReceiver', { receiver, start }, eventOf(receiver))
  if (outcome === 'too_many_streams')
    throw refuse('the client has too many streams already: delete one', 'too_many_receivers', 'conflict')
  if (outcome === 'too_many')
    throw refuse('there are too many webhooks and streams already', 'too_many_receivers', 'conflict')
  return receiver
}

/**
 * Throws access_denied if a client names a push endpoint that its stream does not have yet, and whose host is not in events.push_hosts. Operators choose
 * which client serves a resource, and only an admin may have events sent to another server.
 */
export function checkOwnDelivery({ config }: App, { delivery }: StreamInput, stream?: EventReceiver): void {
  if (delivery?.method !== PUSH || (stream && delivery.endpoint_url === stream.url)) return
  const url = parseHttpUrl(delivery.endpoint_url ?? '')
  if (url && hostRules(config.events.push_hosts).names(url.hostname)) return
  throw refuse(
    'the host of the push endpoint is not in events.push_hosts; poll, or ask an admin of the service',
    'push_needs_admin',
    'access_denied',
  )
}

/** A stream changed by the members of an input. Throws invalid_request for a URL that must not be called. */
export async function withInput(
  app: App,
  stream: EventReceiver,
  { delivery, events_requested = stream.events, description = stream.settings.description }: StreamInput,
): Promise<EventReceiver> {
  const next = {
    ...stream,
    events: events_requested,
    settings: { ...stream.settings, ...(description === undefined ? {} : { description }) },
    updated_at: app.clock.now(),
  }
  if (delivery === undefined) return next
  const url = delivery.method === PUSH ? delivery.endpoint_url : undefined
  if (url !== undefined) checkReceiverUrl(app.config, url)
  const header = delivery.method === PUSH ? delivery.authorization_header : undefined
  // The header is kept if the push endpoint does not change.
  const kept = header === undefined && url === stream.url
  const secret = kept ? {} : await sealReceiverSecret(app, stream.id, header ?? '')
  return { ...next, ...secret, url }
}

/** A stream as its receiver sees it. */
export function streamJson({ config }: App, stream: EventReceiver) {
  const { id, url, client_id = '', events, settings } = stream
  return {
    stream_id: id,
    iss: issuerOf(config),
    aud: client_id,
    delivery:
      url === undefined
        ? { method: POLL, endpoint_url: `${config.server.issuer}${SSF_PATHS.poll}/${id}` }
        : { method: PUSH, endpoint_url: url },
    events_supported: [...STREAM_EVENTS],
    events_requested: events,
    events_delivered: STREAM_EVENTS.filter((type) => events.includes(type)),
    ...(settings.description ? { description: settings.description } : {}),
  }
}

/** What a stream delivers. A receiver that gets no events cannot see otherwise that it would miss one. */
export interface Delivers {
  status: EventReceiver['status']
  events: string[]
  /** The URIs of the resources whose events it contains. */
  resources: string[]
  /** Changes with every change of the stream or of these resources, so that a receiver notices a change that was reverted. */
  version: string
}

/** What a stream delivers now. */
export async function deliversOf(
  app: App,
  { client_id = '', status, events, id, version }: EventReceiver,
): Promise<Delivers> {
  const resources = await resourcesOf(app, client_id)
  const versions = [id, version, ...resources.map((each) => `${each.id} ${each.version}`)]
  return {
    status,
    events: STREAM_EVENTS.filter((type) => events.includes(type)),
    resources: resources.flatMap(({ uri }) => uri ?? []),
    version: createHash('sha256').update(versions.join('\n')).digest('base64url').slice(0, 22),
  }
}

/** Throws conflict for a stream that is disabled: its events are not kept. */
export function checkNotDisabled({ status }: EventReceiver): void {
  if (status === 'disabled') throw refuse(`the stream is ${status}`, 'stream_not_enabled', 'conflict')
}

/** The transmitter configuration (OpenID SSF 1.0 §7.1). */
export function transmitterMetadata(issuer: string, iss: string) {
  return {
    spec_version: '1_0',
    issuer: iss,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    delivery_methods_supported: [PUSH, POLL],
    configuration_endpoint: issuer + SSF_PATHS.streams,
    status_endpoint: issuer + SSF_PATHS.status,
    verification_endpoint: issuer + SSF_PATHS.verify,
    authorization_schemes: [{ spec_urn: 'urn:ietf:rfc:6749' }, { spec_urn: 'urn:ietf:rfc:7617' }],
    default_subjects: 'ALL',
  }
}
