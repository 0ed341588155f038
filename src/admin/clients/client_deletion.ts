// The deletion of a client with its tokens, which may be a million.
import { z } from 'zod'
import { longestLife } from '../../config/lifetimes.ts'
import { bool } from '../../lib/field.ts'
import { idFloor } from '../../lib/id.ts'
import { action } from '../action.ts'
import { conflict, notFound } from '../outcome.ts'
import { revokeFitting } from '../revocations.ts'

/** DELETE /admin/clients/{client_id} */
export const removeClient = action({
  method: 'DELETE',
  path: '/admin/clients/{client_id}',
  doc: 'Deletes a client with its consents and streams, and removes it from the policies of resources. A client with live tokens is deleted only with force.',
  status: 204,
  query: z.strictObject({
    force: bool().prefault(false).describe('Delete it even if it has live tokens, and revoke them.'),
  }),
  long: true,
  audit: 'client_deleted',
  tool: { name: 'delete_client', title: 'Delete a client', destructive: 'get', counts: ['client_id', 'client_id'] },
  cli: { flags: { id: { field: 'client_id' } } },
  async run(app, { params: { client_id }, query: { force } }, by) {
    const remove = (force: boolean, detail: Record<string, unknown>) => {
      const now = app.clock.now()
      const oldest = idFloor(now - longestLife(app.config))
      return by.record('deleteClient', { client_id, force, now, oldest }, { client_id, detail })
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
    return {}
  },
})
