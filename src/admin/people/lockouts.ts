// Admin operations on lockouts: the addresses that may not sign in for a while, and the accounts whose logins wait.
import { z } from 'zod'
import { int } from '../../lib/field.ts'
import { rfc3339 } from '../../lib/time.ts'
import type { LockoutRecord } from '../../records/lockout.ts'
import { type AdminResource, action } from '../action.ts'
import * as answers from '../answers/people.ts'
import { notFound } from '../outcome.ts'

const lockoutJson = ({ since, locked_at, locked_until, ...lockout }: LockoutRecord) => ({
  ...lockout,
  since: rfc3339(since),
  locked_at: rfc3339(locked_at),
  locked_until: rfc3339(locked_until),
})

export const lockouts: AdminResource = {
  name: 'lockout',
  doc: 'Addresses that are locked out, and accounts whose logins wait, after too many failed logins.',
  columns: ['id', 'locked_until'],
  actions: {
    list: action({
      method: 'GET',
      path: '/admin/lockouts',
      doc: 'Lists the addresses and the accounts that are locked now, the most recent lockout first. An address cannot sign in until the lockout ends. Each login to a locked account waits a second; the right password still works.',
      answer: z.array(answers.lockout),
      query: z.strictObject({
        limit: int(1, 1000).prefault(1000).describe('Maximum number of items.'),
        offset: int(0, 1_000_000_000).prefault(0).describe('Number of items to skip.'),
      }),
      async run({ store, clock }, { query }) {
        const found = await store.listLockouts({ ...query, now: clock.now() })
        return { shown: found.map(lockoutJson) }
      },
    }),
    delete: action({
      method: 'DELETE',
      path: '/admin/lockouts/{id}',
      doc: 'Ends a lockout at once, at every instance. Its failed logins no longer count.',
      status: 204,
      audit: 'lockout_deleted',
      async run({ clock }, { params: { id } }, by) {
        if (!(await by.record('deleteLockout', { id, now: clock.now() }, { detail: {} }))) throw notFound('lockout')
        return {}
      },
    }),
  },
}
