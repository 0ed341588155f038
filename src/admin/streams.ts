// Admin operations on streams: security events for the servers of resources (OpenID SSF 1.0, CAEP).
import { z } from 'zod'
import type { App } from '../context.ts'
import { STREAM_EVENTS } from '../events/event_types.ts'
import { createStream, STREAM_STATUSES, servesResource, streamFields, streamJson, withInput } from '../events/stream.ts'
import { name, text, word } from '../lib/field.ts'
import { dated } from '../lib/time.ts'
import { resolveClient } from '../oauth/clients/find_client.ts'
import type { EventCursor, EventReceiver } from '../records/event_receiver.ts'
import { type AdminResource, action, type FlagRule } from './action.ts'
import { cursorOfReceiver, getReceiver, lagJson, listWithCursors, redeliver } from './answers/event_answers.ts'
import * as answers from './answers/events.ts'
import { tryForm } from './forms/resource_form.ts'
import { changedFields, invalid, notFound } from './outcome.ts'

const creatable = z.strictObject({
  client_id: name(2048).describe('The client of the resource server: one on the runtime list of a resource.'),
  ...streamFields,
  delivery: streamFields.delivery.optional(),
  events_requested: streamFields.events_requested.prefault([]),
  description: streamFields.description.prefault(''),
})
const patchable = z
  .strictObject({
    ...streamFields,
    status: word(STREAM_STATUSES).describe(
      'Paused and disabled streams deliver nothing; events wait for events.retention.',
    ),
    reason: text().describe('Why the status was changed, for the receiver.'),
  })
  .partial()

const deliveryFlag: FlagRule = {
  field: 'delivery',
  doc: 'JSON file with the delivery: {"method":"urn:ietf:rfc:8935","endpoint_url":"https://rs.example.com/events"}. Default: the receiver polls (urn:ietf:rfc:8936). - reads standard input.',
  value: 'file',
  json: true,
}

const NO_EVENTS = 'events_requested has no supported event type: the stream gets no events'
const NO_RESOURCE = 'the client is on the runtime list of no resource: the stream gets no events'

/** Why a stream gets no events; undefined if it can get some. */
async function warningOf(app: App, { client_id = '', events }: EventReceiver): Promise<string | undefined> {
  if (!STREAM_EVENTS.some((type) => events.includes(type))) return NO_EVENTS
  return (await servesResource(app, client_id)) ? undefined : NO_RESOURCE
}

/** A stream in the form of the admin API. */
async function shownStream(app: App, stream: EventReceiver, known?: EventCursor) {
  const cursor = known ?? (await cursorOfReceiver(app, stream))
  const { failing_since, last_error, delivered_at, recent } = cursor
  const { status_reason: reason } = stream.settings
  const warning = await warningOf(app, stream)
  return dated({
    ...streamJson(app, stream),
    description: stream.settings.description ?? '',
    status: stream.status,
    source: stream.settings.source ?? 'admin',
    ...(await lagJson(app, stream, cursor)),
    reason,
    warning,
    failing_since,
    last_error,
    delivered_at,
    deliveries: recent.map(dated),
    created_at: stream.created_at,
    updated_at: stream.updated_at,
  })
}

const getStream = (app: App, id: string) => getReceiver(app, 'stream', id)

const changed = ({ id, client_id, status }: EventReceiver, fields?: string[]) => ({
  client_id,
  detail: { stream_id: id, ...(fields ? { fields, status } : {}) },
})

export const streams: AdminResource = {
  name: 'stream',
  doc: 'Streams of security events for the servers of resources (OpenID Shared Signals).',
  actions: {
    list: action('GET /admin/streams', {
      doc: 'Lists streams, oldest first.',
      answer: z.array(answers.stream),
      async run(app) {
        const found = await listWithCursors(app, 'stream')
        return { shown: await Promise.all(found.map(({ receiver, cursor }) => shownStream(app, receiver, cursor))) }
      },
    }),
    create: action('POST /admin/streams', {
      doc: 'Creates a stream for a resource server. It has the events about the resources whose runtime list has the client.',
      answer: answers.stream,
      status: 201,
      form: tryForm,
      body: creatable,
      needs: 'admin',
      audit: 'stream_created',
      cli: { flags: { delivery: deliveryFlag } },
      async run(app, { body: { client_id, ...input } }, by) {
        if (!(await resolveClient(app, client_id))) throw invalid('client_id names no client', 'unknown_client')
        const stream = await createStream(app, client_id, input, {}, (stream) => by.event(changed(stream)))
        return { shown: await shownStream(app, stream) }
      },
    }),
    get: action('GET /admin/streams/{id}', {
      doc: 'Shows a stream with its last deliveries.',
      answer: answers.stream,
      run: async (app, { params }) => ({ shown: await shownStream(app, await getStream(app, params.id)) }),
    }),
    update: action('PATCH /admin/streams/{id}', {
      doc: 'Changes the named members of a stream.',
      answer: answers.stream,
      body: patchable,
      needs: 'admin',
      audit: 'stream_updated',
      cli: { flags: { delivery: deliveryFlag } },
      async run(app, { params, body: { status, reason, ...input } }, by) {
        const stored = await getStream(app, params.id)
        const next = await withInput(app, stored, input)
        const settings = { ...next.settings, ...(reason === undefined ? {} : { status_reason: reason }) }
        const written = { ...next, settings, status: status ?? stored.status }
        const { updated_at: _, ...before } = stored
        const fields = changedFields(before, { ...written, updated_at: undefined })
        if (fields.length === 0) return { shown: await shownStream(app, stored) }
        const named = Object.keys({ ...input, ...(status ? { status } : {}), ...(reason ? { reason } : {}) })
        await by.record('updateReceiver', written, changed(written, named))
        return { shown: await shownStream(app, written) }
      },
    }),
    verify: action('POST /admin/streams/{id}/verify', {
      doc: 'Sends a verification event on a stream, which shows whether its receiver gets events.',
      body: z.strictObject({ state: text(1024).optional().describe('A text that the event contains.') }),
      bodyOptional: true,
      audit: 'stream_verification_requested',
      async run(app, { params, body: { state } }) {
        const { id, client_id } = await getStream(app, params.id)
        return { noted: { client_id, detail: { stream_id: id, ...(state === undefined ? {} : { state }) } } }
      },
    }),
    redeliver: action('POST /admin/streams/{id}/redeliver/{event_id}', {
      doc: 'Pushes the security events of an audit event once more, now, with the same jti. Later events do not wait for them.',
      answer: answers.redelivery,
      audit: 'stream_redelivered',
      async run(app, { params }) {
        const stream = await getStream(app, params.id)
        if (stream.url === undefined) throw invalid('events of this stream are polled', 'poll_stream')
        const shown = await redeliver(app, stream, params.event_id)
        const { client_id, detail } = changed(stream)
        return { shown, noted: { client_id, detail: { ...detail, event_id: params.event_id } } }
      },
    }),
    delete: action('DELETE /admin/streams/{id}', {
      doc: 'Deletes a stream. Events that wait for it are not delivered.',
      needs: 'admin',
      audit: 'stream_deleted',
      async run(app, { params }, by) {
        const stream = await getStream(app, params.id)
        if (!(await by.record('deleteReceiver', { id: stream.id }, changed(stream)))) throw notFound('stream')
      },
    }),
  },
}
