// Admin operations on webhooks: URLs that receive audit events.
import { z } from 'zod'
import type { App } from '../context.ts'
import { feedEnd } from '../events/cursor.ts'
import { attemptDelivery, wants } from '../events/delivery.ts'
import { webhookBody } from '../events/event_json.ts'
import { issuedSince } from '../events/issued_events.ts'
import { checkReceiverUrl } from '../events/receiver_url.ts'
import {
  newSigningSecret,
  openSigningSecrets,
  rotatedSigningSecrets,
  sealReceiverSecret,
} from '../events/signing_secret.ts'
import { unknownPatterns } from '../events/webhook_actions.ts'
import { distinct, endpoint, jsonBool, text } from '../lib/field.ts'
import { isId, newId } from '../lib/id.ts'
import { dated, rfc3339 } from '../lib/time.ts'
import type { AuditEvent } from '../records/audit_event.ts'
import { type EventCursor, type EventReceiver, MAX_RECEIVERS } from '../records/event_receiver.ts'
import { type AdminResource, action } from './action.ts'
import { cursorOfReceiver, getReceiver, lagJson, listWithCursors, redeliver } from './answers/event_answers.ts'
import * as answers from './answers/events.ts'
import { badInput, changedFields, conflict, existing, notFound } from './outcome.ts'

const fields = {
  url: endpoint().describe('Where events are sent. https, unless events.allow_hosts has the host.'),
  events: distinct(text(), true).describe(
    'Audit actions. * stands for any text: client_* or *. token_issued and upstream_token_issued must be named in full.',
  ),
  description: text().describe('What it is for.'),
  paused: jsonBool().describe('Whether events wait instead of being sent.'),
}
const creatable = z.strictObject({
  ...fields,
  description: fields.description.prefault(''),
  paused: fields.paused.prefault(false),
})
const patchable = z.strictObject(fields).partial()

/** A webhook in the form of the admin API. */
async function webhookJson(app: App, receiver: EventReceiver, known?: EventCursor) {
  const cursor = known ?? (await cursorOfReceiver(app, receiver))
  const { failing_since, retry_at, delivered_at, last_error } = cursor
  const isFailing = failing_since !== undefined
  const paused = receiver.status !== 'enabled'
  return dated({
    id: receiver.id,
    url: receiver.url ?? '',
    events: receiver.events,
    description: receiver.settings.description ?? '',
    paused,
    status: paused ? 'paused' : isFailing ? 'failing' : 'active',
    ...(await lagJson(app, receiver, cursor)),
    last_error,
    failing_since,
    next_attempt_at: isFailing ? retry_at : undefined,
    delivered_at,
    deliveries: cursor.recent.map(dated),
    created_at: receiver.created_at,
    updated_at: receiver.updated_at,
  })
}

/** The body of the request that sends an event. */
const payloadOf = ({ config }: App, event: AuditEvent): Record<string, unknown> =>
  JSON.parse(webhookBody(event, config.events.include_pii))

const getWebhook = (app: App, id: string) => getReceiver(app, 'webhook', id)

/** Throws invalid_request for a URL that must not be called, and for patterns without an action. */
function checkFields({ config }: App, { url, events }: { url?: string; events?: string[] }): void {
  if (url !== undefined) checkReceiverUrl(config, url)
  const unknown = unknownPatterns(events ?? [])
  if (unknown.length > 0) throw badInput(unknown.map((pattern) => `events: no audit action is named ${pattern}`))
}

/** Audit detail. The path of a URL may be a secret. */
const facts = ({ id, url = '' }: EventReceiver) => ({ webhook_id: id, host: new URL(url).host })

export const webhooks: AdminResource = {
  name: 'webhook',
  doc: 'Webhooks: URLs that receive audit events, signed as Standard Webhooks.',
  actions: {
    list: action('GET /admin/webhooks', {
      doc: 'Lists webhooks, oldest first, with the last attempts of each.',
      answer: z.array(answers.webhook),
      async run(app) {
        const found = await listWithCursors(app, 'webhook')
        return { shown: await Promise.all(found.map(({ receiver, cursor }) => webhookJson(app, receiver, cursor))) }
      },
    }),
    create: action('POST /admin/webhooks', {
      doc: 'Creates a webhook. It receives the events from now on. Its secret is shown only in this response.',
      answer: answers.newWebhook,
      status: 201,
      body: creatable,
      needs: 'admin',
      audit: 'webhook_created',
      async run(app, { body: { description, paused, ...body } }, by) {
        checkFields(app, body)
        const now = app.clock.now()
        const id = `wh_${newId()}`
        const secret = newSigningSecret()
        const receiver: EventReceiver = {
          ...body,
          id,
          kind: 'webhook',
          status: paused ? 'paused' : 'enabled',
          settings: { description, ...issuedSince(undefined, body.events, now) },
          ...(await sealReceiverSecret(app, id, [{ secret }])),
          version: 1,
          created_at: now,
          updated_at: now,
        }
        const start = (await feedEnd(app.store)) - 1
        if ((await by.record('createReceiver', { receiver, start }, { detail: facts(receiver) })) === 'too_many')
          throw conflict(`there are ${MAX_RECEIVERS} webhooks and streams already`, 'too_many_receivers')
        return { shown: { ...(await webhookJson(app, receiver)), secret } }
      },
    }),
    get: action('GET /admin/webhooks/{id}', {
      doc: 'Shows a webhook with its last attempts.',
      answer: answers.webhook,
      run: async (app, { params }) => ({ shown: await webhookJson(app, await getWebhook(app, params.id)) }),
    }),
    update: action('PATCH /admin/webhooks/{id}', {
      doc: 'Changes the named members of a webhook. Events that wait are sent to the new URL.',
      answer: answers.webhook,
      body: patchable,
      needs: 'admin',
      audit: 'webhook_updated',
      async run(app, { params, body }, by) {
        const stored = await getWebhook(app, params.id)
        const isPaused = stored.status !== 'enabled'
        const known = { url: stored.url, events: stored.events, ...stored.settings, paused: isPaused }
        if (changedFields(known, body).length === 0) return { shown: await webhookJson(app, stored) }
        checkFields(app, body)
        const { url = stored.url, events = stored.events, description = stored.settings.description } = body
        const status = (body.paused ?? isPaused) ? 'paused' : 'enabled'
        const settings = { ...stored.settings, description, ...issuedSince(stored, events, app.clock.now()) }
        const next: EventReceiver = { ...stored, url, events, status, settings, updated_at: app.clock.now() }
        await by.record('updateReceiver', next, { detail: { ...facts(next), fields: Object.keys(body) } })
        return { shown: await webhookJson(app, next) }
      },
    }),
    rotateSecret: action('POST /admin/webhooks/{id}/rotate-secret', {
      doc: 'Creates a new secret for a webhook. For 24 hours deliveries have a signature of the earlier secret too.',
      answer: answers.webhookSecret,
      needs: 'admin',
      audit: 'webhook_updated',
      async run(app, { params }, by) {
        const now = app.clock.now()
        const secret = newSigningSecret()
        const stored = await getWebhook(app, params.id)
        const secrets = rotatedSigningSecrets(await openSigningSecrets(app, stored), secret, now)
        const next = { ...stored, ...(await sealReceiverSecret(app, stored.id, secrets)), updated_at: now }
        await by.record('updateReceiver', next, { detail: { ...facts(next), fields: ['secret'] } })
        return { shown: { id: stored.id, secret, earlier_until: rfc3339(secrets[1]?.until ?? now) } }
      },
    }),
    test: action('POST /admin/webhooks/{id}/test', {
      doc: 'Sends the event webhook_tested to a webhook now, also if it is paused or has chosen other events, and shows what was sent and what the receiver answered.',
      answer: answers.testedWebhook,
      audit: 'webhook_tested',
      async run(app, { params: { id } }, by) {
        const receiver = await getWebhook(app, id)
        const change = { event_id: newId(), detail: facts(receiver) }
        const event = by.event(change)
        const made = await existing('event', attemptDelivery(app, receiver, event))
        return { shown: { ...dated(made), payload: payloadOf(app, event) }, noted: change }
      },
    }),
    payload: action('GET /admin/webhooks/{id}/payloads/{event_id}', {
      doc: 'Shows what a webhook receives for an audit event: the body of the request. The secret of the webhook signs it, and is not in it.',
      answer: answers.payload,
      async run(app, { params: { id, event_id } }) {
        const receiver = await getWebhook(app, id)
        const event = isId(event_id) ? await app.store.findAuditEvent({ id: event_id }) : undefined
        if (!event || !wants(receiver, event)) throw notFound('event')
        return { shown: { event_id, payload: payloadOf(app, event) } }
      },
    }),
    redeliver: action('POST /admin/webhooks/{id}/redeliver/{event_id}', {
      doc: 'Sends an audit event once more, now, with the same webhook-id. It must be one that the webhook receives. It does not matter whether it was accepted before, and later events do not wait for it.',
      answer: answers.redelivery,
      audit: 'webhook_redelivered',
      async run(app, { params: { id, event_id } }) {
        const receiver = await getWebhook(app, id)
        const shown = await redeliver(app, receiver, event_id)
        return { shown, noted: { detail: { ...facts(receiver), event_id } } }
      },
    }),
    delete: action('DELETE /admin/webhooks/{id}', {
      doc: 'Deletes a webhook. Events that wait for it are not sent.',
      needs: 'admin',
      audit: 'webhook_deleted',
      async run(app, { params }, by) {
        const receiver = await getWebhook(app, params.id)
        const change = { detail: facts(receiver) }
        if (!(await by.record('deleteReceiver', { id: receiver.id }, change))) throw notFound('webhook')
      },
    }),
  },
}
