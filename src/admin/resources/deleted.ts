// Clients and resources that were deleted and can be restored.
import { z } from 'zod'
import type { App } from '../../context.ts'
import { int, word } from '../../lib/field.ts'
import { rfc3339 } from '../../lib/time.ts'
import type { DeletedRecord } from '../../store/clients/deleted.ts'
import { RESTORABLE } from '../../store/expiry.ts'
import { type AdminResource, action } from '../action.ts'
import { deletedRecord } from '../answers/people.ts'

/** Only what was deleted after this can be restored. */
export const restorableSince = ({ clock }: Pick<App, 'clock'>): number => clock.now() - RESTORABLE

const deletedJson = ({ id: _, deleted_at, ...record }: DeletedRecord) => ({
  ...record,
  deleted_at: rfc3339(deleted_at),
  restorable_until: rfc3339(deleted_at + RESTORABLE),
})

export const deletedRecords: AdminResource = {
  name: 'deleted',
  doc: 'Clients and resources that were deleted within the last 7 days. `client restore` and `resource restore` restore them.',
  columns: ['kind', 'name', 'label', 'deleted_at', 'restorable_until', 'deleted_by'],
  actions: {
    list: action({
      method: 'GET',
      path: '/admin/deleted',
      doc: 'Lists the clients and resources that can be restored, the last deleted one first. `service purge` deletes them for ever after 7 days.',
      answer: z.array(deletedRecord),
      query: z.strictObject({
        kind: word(['client', 'resource']).optional().describe('Only records of this kind.'),
        limit: int(1, 500).prefault(100).describe('Maximum number of items.'),
        offset: int(0, 1_000_000_000).prefault(0).describe('Number of items to skip.'),
      }),
      run: async (app, { query }) => ({
        shown: (await app.store.listDeleted({ ...query, after: restorableSince(app) })).map(deletedJson),
      }),
    }),
  },
}
