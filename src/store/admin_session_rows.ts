// Rows of the sessions of the admin page. They are deleted when the person is signed out.
import { change, type Op } from './op.ts'

/** Ends every session of a person at the admin page. Returns their number. */
export function* endAdminSessions(user_id: string): Op<number> {
  return yield* change('DELETE FROM admin_sessions WHERE user_id = ?', user_id)
}
