// Admin operations on lockouts: the addresses that may not sign in for a while, and the accounts whose logins wait.
import { z } from 'zod'
import { dated } from '../../lib/time.ts'
import { type AdminResource, action } from '../action.ts'
import * as answers from '../answers/people.ts'
import { paging } from '../lists.ts'
import { notFound } from '../outcome.ts'

export const lockouts: AdminResource = {
  name: 'lockout',
  doc: 'Addresses that are locked out, and accounts whose logins wait, after too many failed logins.',
  columns: ['id', 'locked_until'],
  actions: {
    list: action('GET /admin/lockouts', {
      doc: 'Lists the addresses and the accounts that are locked now, the most recent lockout first. An address cannot sign in until the lockout ends. Each login to a locked account waits a second; the right password still works.',
      answer: z.array(answers.lockout),
      query: z.strictObject(paging(1000, 1000)),
      async run({ store, clock }, { query }) {
        const found = await store.listLockouts({ ...query, now: clock.now() })
        return { shown: found.map(dated) }
      },
    }),
    delete: action('DELETE /admin/lockouts/{id}', {
      doc: 'Ends a lockout at once, at every instance. Its failed logins no longer count.',
      audit: 'lockout_deleted',
      async run({ clock }, { params: { id } }, by) {
        if (!(await by.record('deleteLockout', { id, now: clock.now() }, { detail: {} }))) throw notFound('lockout')
      },
    }),
  },
}
