// The deletion of a client with its tokens, which may be a million, and its restore.
import { z } from 'zod'
import { longestLife } from '../../config/lifetimes.ts'
import { bool } from '../../lib/field.ts'
import { idFloor } from '../../lib/id.ts'
import { RESTORABLE_DAYS } from '../../records/client.ts'
import { action } from '../action.ts'
import * as answers from '../answers/answers.ts'
import { conflict, existing, notFound } from '../outcome.ts'
import { restorableSince } from '../resources/deleted.ts'
import { revokeFitting } from '../revocations.ts'
import { checkClientChange } from '../rights.ts'
import { clientExists } from './client_documents.ts'
import { getClient } from './client_record.ts'
import { shownAlone } from './client_shown.ts'

export const removeClient = action('DELETE /admin/clients/{client_id}', {
  doc: `Deletes a client with its consents and streams, and removes it from the policies of resources. A client with live tokens is deleted only with force. For ${RESTORABLE_DAYS} days the client can be restored, without what was ended.`,
  query: z.strictObject({
    force: bool().prefault(false).describe('Delete it even if it has live tokens, and revoke them.'),
  }),
  long: true,
  audit: 'client_deleted',
  tool: { name: 'delete_client', title: 'Delete a client', destructive: 'get', counts: ['client_id', 'client_id'] },
  async run(app, { params: { client_id }, query: { force } }, by) {
    const remove = (force: boolean, detail: Record<string, unknown>) => {
      const now = app.clock.now()
      const oldest = idFloor(now - longestLife(app.config))
      return by.record('deleteClient', { client_id, force, now, oldest, by: by.actor_id }, { client_id, detail })
    }
    let outcome = await remove(false, { force })
    if (outcome === 'has_tokens' && force) {
      // Step by step, so that other requests do not wait. Tokens of the last moment end together with the client.
      const toll = await revokeFitting(app, { client_id }, { dry_run: false, onProgress: by.onProgress })
      outcome = await remove(true, { force, ...toll })
    }
    if (outcome === undefined) throw notFound('client')
    if (outcome === 'has_tokens') throw conflict('the client has live tokens; force revokes them', 'has_tokens')
    if (outcome !== 'deleted')
      throw conflict(
        `the exchange list of ${outcome.only_at} contains only this client, and an empty list would allow other clients; change the list first`,
        'only_exchange',
      )
  },
})

export const clientRestore = action('POST /admin/clients/{client_id}/restore', {
  doc: `Restores a client that was deleted within the last ${RESTORABLE_DAYS} days, with its secrets and keys. Its consents, sign-ins, tokens and streams stay ended, and policies of resources do not name it. After a leak, rotate its secret. It is refused if the client_id was taken meanwhile.`,
  answer: answers.clientWithSecrets,
  audit: 'client_restored',
  cli: { unlisted: true },
  async run(app, { params: { client_id } }, by) {
    const deleted = await existing(
      'deleted client',
      app.store.findDeletedClient({ name: client_id, after: restorableSince(app) }),
    )
    const now = app.clock.now()
    const client = { ...deleted.record, updated_at: now }
    await checkClientChange(app, by, client)
    const change = { client_id, detail: { client_name: client.client_name } }
    const outcome = await by.record('restoreClient', { deleted_id: deleted.id, client, now }, change)
    if (outcome === undefined) throw notFound('deleted client')
    if (outcome === 'exists') throw clientExists()
    return { shown: await shownAlone(app, await getClient(app, client_id)) }
  },
})
