// The headers of Standard Webhooks: an id, the time of the attempt, and one signature for each valid secret.
import { createHmac } from 'node:crypto'

/** The headers of one attempt. `id` is the same at every attempt. */
export function webhookHeaders(id: string, seconds: number, body: string, secrets: readonly string[]) {
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
