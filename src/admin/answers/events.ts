// Schemas of the answers about webhooks and streams, as in answers.ts.
import { z } from 'zod'

const at = z.iso.datetime()

const delivery = z.strictObject({
  event_id: z.string(),
  type: z.string(),
  at,
  status: z.int().optional().describe('Status of the response; absent if there was none.'),
  error: z.string().optional().describe('Why the attempt failed; absent if it did not.'),
})

const lag = {
  pending: z
    .int()
    .describe('Events that wait; for a stream the audit events that may concern it. At most 10000 are counted.'),
  oldest_pending_at: at.optional().describe('The time of the oldest event that waits; absent if none waits.'),
}

export const webhook = z.strictObject({
  id: z.string(),
  url: z.string(),
  events: z.array(z.string()),
  description: z.string(),
  paused: z.boolean(),
  status: z
    .enum(['active', 'failing', 'paused'])
    .describe('failing: the last attempt failed, and further attempts follow after growing pauses.'),
  ...lag,
  last_error: z.string().optional(),
  failing_since: at.optional(),
  next_attempt_at: at.optional(),
  delivered_at: at.optional().describe('The last accepted delivery.'),
  deliveries: z.array(delivery).describe('The last attempts, latest first.'),
  created_at: at,
  updated_at: at,
})
const secret = z.string().describe('Signs deliveries. It is shown only in this response.')
export const newWebhook = webhook.extend({ secret })
export const webhookSecret = z.strictObject({
  id: z.string(),
  secret,
  earlier_until: at.describe('The earlier secret signs too until then.'),
})
export const redelivery = delivery.extend({
  response: z
    .string()
    .optional()
    .describe('The beginning of the body of the response, at most 500 characters. It is not stored.'),
})
export const payload = z.strictObject({
  event_id: z.string(),
  payload: z.record(z.string(), z.unknown()).describe('The body of the request, without its signature.'),
})
export const testedWebhook = redelivery.extend(payload.shape)

export const stream = z.strictObject({
  stream_id: z.string(),
  iss: z.string(),
  aud: z.string().describe('The client of the resource server.'),
  delivery: z.strictObject({ method: z.string(), endpoint_url: z.string() }),
  events_supported: z.array(z.string()),
  events_requested: z.array(z.string()),
  events_delivered: z.array(z.string()),
  description: z.string(),
  status: z.enum(['enabled', 'paused', 'disabled']),
  reason: z.string().optional(),
  warning: z.string().optional().describe('Why the stream gets no events.'),
  source: z.enum(['admin', 'client']).describe('Who created it: an operator, or the client itself at /ssf/streams.'),
  ...lag,
  failing_since: at.optional(),
  last_error: z.string().optional(),
  delivered_at: at.optional().describe('The last accepted push, or the last poll that acknowledged events.'),
  deliveries: z.array(delivery).describe('The last pushes, latest first.'),
  created_at: at,
  updated_at: at,
})
