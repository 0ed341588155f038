// Admin operations on the secrets of a client: rotation with an overlap, and the end of single ones.
import { z } from 'zod'
import { duration } from '../../lib/field.ts'
import { rfc3339 } from '../../lib/time.ts'
import {
  liveSecrets,
  MAX_OVERLAP,
  MAX_SECRETS,
  newClientSecret,
  rotatedSecrets,
  secretRecord,
} from '../../oauth/clients/client_secret.ts'
import type { Client } from '../../records/client.ts'
import { type AdminResource, action } from '../action.ts'
import * as answers from '../answers/answers.ts'
import { conflict, invalid, notFound } from '../outcome.ts'
import { secretsJson } from './client_members.ts'
import { changeClient, getClient } from './client_record.ts'

const rotation = z.strictObject({
  overlap: duration(0, MAX_OVERLAP)
    .prefault('0s')
    .describe(
      'Time for which the current secret is still accepted, such as 24h. Without it every earlier secret ends at once.',
    ),
})

/** The operation that gives a client a new secret. */
export const rotateSecret = action('POST /admin/clients/{client_id}/rotate-secret', {
  doc: 'Creates a new secret for a client. The secret is shown only in this response. Earlier secrets end at once, or after the overlap. Tokens stay valid: revoke them after a leak. Needs the capability admin if a resource with which tokens of a provider can be obtained lists the client.',
  answer: answers.newSecretAnswer,
  body: rotation,
  bodyOptional: true,
  audit: 'client_secret_rotated',
  async run(app, { params, body: { overlap } }, by) {
    const now = app.clock.now()
    const client_secret = newClientSecret()
    const next = secretRecord(client_secret, now)
    const { id: secret_id } = next
    const rotate = (client: Client): Client => {
      if (client.secrets === undefined) throw invalid('the client has no secret', 'no_secret')
      const rotated = rotatedSecrets(client, next, overlap, now)
      if (rotated.length > MAX_SECRETS)
        throw conflict(
          `the client has ${MAX_SECRETS} secrets already: end one, or rotate without overlap`,
          'too_many_secrets',
        )
      return { ...client, secrets: rotated }
    }
    const { client_id } = await changeClient(app, params.client_id, by, rotate, ({ secrets = [] }) => {
      const earlier = secrets[1]?.expires_at
      return { secret_id, ...(earlier ? { earlier_until: rfc3339(earlier) } : {}) }
    })
    return { shown: { client_id, client_secret, secret_id } }
  },
})

/** The client without one of its secrets. Throws not_found, or conflict for the last one: no request could authenticate then. */
function withoutSecret(client: Client, id: string, now: number): Client {
  const live = liveSecrets(client, now)
  const left = live.filter((secret) => secret.id !== id)
  if (left.length === live.length) throw notFound('secret')
  if (left.length === 0)
    throw conflict(
      'it is the last secret of the client: rotate it without overlap to replace it, or suspend the client',
      'last_secret',
    )
  return { ...client, secrets: left }
}

export const clientSecrets: AdminResource = {
  name: 'client secret',
  doc: 'Secrets of a client. After a rotation with an overlap a client has several secrets.',
  actions: {
    list: action('GET /admin/clients/{client_id}/secrets', {
      doc: 'Lists the accepted secrets of a client, the newest first. The secrets themselves are never shown again.',
      answer: z.array(answers.clientSecret),
      async run(app, { params }) {
        const { secrets = [] } = await secretsJson(app, await getClient(app, params.client_id))
        return { shown: secrets }
      },
    }),
    end: action('DELETE /admin/clients/{client_id}/secrets/{secret_id}', {
      doc: 'Ends one secret of a client at once. The last one cannot be ended.',
      audit: 'client_secret_ended',
      async run(app, { params: { client_id, secret_id } }, by) {
        const end = (client: Client) => withoutSecret(client, secret_id, app.clock.now())
        await changeClient(app, client_id, by, end, () => ({ secret_id }))
      },
    }),
  },
}
