// Clients and resources that were deleted and can be restored.
import { z } from 'zod'
import type { App } from '../../context.ts'
import { word } from '../../lib/field.ts'
import { dated } from '../../lib/time.ts'
import { RESTORABLE_DAYS } from '../../records/client.ts'
import type { DeletedRecord } from '../../store/clients/deleted.ts'
import { RESTORABLE } from '../../store/expiry.ts'
import { type AdminResource, action } from '../action.ts'
import { deletedRecord } from '../answers/people.ts'
import { paging, q } from '../lists.ts'

/** Only what was deleted after this can be restored. */
export const restorableSince = ({ clock }: Pick<App, 'clock'>): number => clock.now() - RESTORABLE

const deletedJson = ({ id: _, ...record }: DeletedRecord) =>
  dated({ ...record, restorable_until: record.deleted_at + RESTORABLE })

export const deletedRecords: AdminResource = {
  name: 'deleted',
  doc: `Clients and resources that were deleted within the last ${RESTORABLE_DAYS} days. \`client restore\` and \`resource restore\` restore them.`,
  columns: ['kind', 'name', 'label', 'deleted_at', 'restorable_until', 'deleted_by'],
  actions: {
    list: action('GET /admin/deleted', {
      doc: `Lists the clients and resources that can be restored, the last deleted one first. \`service purge\` deletes them for ever after ${RESTORABLE_DAYS} days.`,
      answer: z.array(deletedRecord),
      query: z.strictObject({
        kind: word(['client', 'resource']).optional().describe('Only records of this kind.'),
        q: q.describe(
          'Only records with this text in their name or label. Case is ignored. The last 5,000 deleted ones are searched.',
        ),
        ...paging(500, 100),
      }),
      run: async (app, { query }) => ({
        shown: (await app.store.listDeleted({ ...query, after: restorableSince(app) })).map(deletedJson),
      }),
    }),
  },
}
