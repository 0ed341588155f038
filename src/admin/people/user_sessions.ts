// Admin operations on the sign-ins of a user: browsers that have a session.
import { z } from 'zod'
import { deviceName } from '../../lib/device_name.ts'
import { isId } from '../../lib/id.ts'
import { dated } from '../../lib/time.ts'
import type { Session } from '../../records/session.ts'
import { type AdminResource, action } from '../action.ts'
import * as answers from '../answers/people.ts'
import { notFound } from '../outcome.ts'
import { getUser } from './people.ts'

/** A session in the form of the admin API. The id alone cannot be used to sign in, because the cookie is sealed. */
const sessionJson = ({ id, created_at, expires_at, last_used_at, ip, user_agent, oidc_issuer }: Session) =>
  dated({
    id,
    ...deviceName(user_agent),
    address: ip,
    user_agent,
    provider_issuer: oidc_issuer,
    created_at,
    last_used_at,
    expires_at,
  })

export const userSessions: AdminResource = {
  name: 'user session',
  doc: 'Sign-ins of a user: browsers that have a session.',
  actions: {
    list: action('GET /admin/users/{id}/sessions', {
      doc: 'Lists the sign-ins of a user, the newest first, at most 100.',
      answer: z.array(answers.userSession),
      async run(app, { params: { id } }) {
        await getUser(app, id)
        const found = await app.store.listSessions({ user_id: id, now: app.clock.now() })
        return { shown: found.map(sessionJson) }
      },
    }),
    end: action('DELETE /admin/users/{id}/sessions/{session_id}', {
      doc: 'Ends one sign-in of a user at once, at every instance, with the codes that were issued in it. Applications keep their access.',
      audit: 'user_sessions_ended',
      async run(app, { params: { id, session_id } }, by) {
        await getUser(app, id)
        const change = { detail: { user_id: id, sessions: 1 } }
        const named = { user_id: id, id: session_id }
        if (!isId(session_id) || !(await by.record('endUserSession', named, change))) throw notFound('session')
      },
    }),
  },
}
