// The operation that makes a one-time link with which a user sets a password.
import { rfc3339 } from '../../lib/time.ts'
import { allowsPasswords } from '../../oauth/sign_in/local_login.ts'
import { newPasswordLink } from '../../oauth/sign_in/password_link.ts'
import { action } from '../action.ts'
import * as answers from '../answers/people.ts'
import { conflict } from '../outcome.ts'
import { checkAdminUsers, checkPasswordChange } from '../rights.ts'
import { getUser } from './people.ts'

export const passwordLink = action('POST /admin/users/{id}/password-link', {
  doc: 'Creates a link with which the user sets a password: once, within 24 hours. The link is shown only in this response. It replaces the earlier links of the user. Setting the password ends the sessions and refresh tokens of the user. Needs the capability admin while the user has upstream connections; a new connection ends the link.',
  answer: answers.passwordLinkAnswer,
  audit: 'user_password_link_created',
  async run(app, { params: { id } }, by) {
    const user = await getUser(app, id)
    if (user.provider !== 'local')
      throw conflict('the user signs in at the upstream provider and has no password here', 'user_not_local')
    if (user.status !== 'active')
      throw conflict('the user is disabled; enable the user before you make a link', 'wrong_state')
    if (!allowsPasswords(app))
      throw conflict(
        'users sign in at upstream providers only; oidc.show_local_login allows passwords',
        'passwords_disabled',
      )
    checkAdminUsers(app, by, user)
    await checkPasswordChange(app, by, id)
    const { url, link } = newPasswordLink(app.config, id, app.clock.now())
    await by.record('savePasswordLink', link, { detail: { user_id: id } })
    return { shown: { url, expires_at: rfc3339(link.expires_at) } }
  },
})
