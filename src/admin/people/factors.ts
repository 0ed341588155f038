// The second factors of users, as operators see and reset them.
import type { App } from '../../context.ts'
import { dated } from '../../lib/time.ts'
import type { User } from '../../records/user.ts'
import { action } from '../action.ts'
import * as answers from '../answers/people.ts'
import { requireCapability } from '../rights.ts'
import { getUser } from './people.ts'

/** The factors of a user in the form of the admin API, without secrets and keys. */
export async function factorsOf({ store }: App, { id: user_id }: User) {
  const [factors, recovery_codes_left] = await Promise.all([
    store.listFactors({ user_id }),
    store.countRecoveryCodes({ user_id }),
  ])
  return {
    factors: factors.map(({ id, kind, name, created_at, last_used_at }) =>
      dated({ id, kind, name, created_at, last_used_at }),
    ),
    recovery_codes_left,
  }
}

export const factorReset = action('POST /admin/users/{id}/reset-factors', {
  doc: 'Removes every second factor and recovery code of a user, who lost them, and ends the sessions and refresh tokens. For a user with the role admin it needs the capability admin.',
  answer: answers.factorsReset,
  audit: 'factors_reset',
  async run(app, { params: { id } }, by) {
    const user = await getUser(app, id)
    if (user.role === 'admin') requireCapability(by, 'admin', 'a reset of the second factors of an admin')
    const change = { detail: { user_id: id } }
    const factors_removed = await by.record('resetFactors', { user_id: id, now: app.clock.now() }, change)
    return { shown: { user_id: id, factors_removed } }
  },
})
