// Sign-in of local users with the role admin to the admin page. A passkey belongs to the host of the issuer, so the person signs in there, and
// the browser brings back a code that only the browser that started can use, once.
import type { App } from '../../context.ts'
import { parseParams, type Reply, type Request, redirect } from '../../http/message.ts'
import { OAuthError } from '../../lib/error.ts'
import { digest } from '../../lib/id.ts'
import { audit, sentBy } from '../../oauth/audit.ts'
import { ADMIN_ENTRY_PATH, adminEntry, openAdminCode } from '../../oauth/sign_in/admin_entry.ts'
import type { PendingPlace } from '../../oauth/sign_in/pending_login.ts'
import { isLocalAdmin } from '../../oauth/tokens/admin_resource.ts'
import { localIdentityOf, PAGE_PATH } from './people.ts'
import { startAdminSession } from './session.ts'

/** Sends the browser to the sign-in with a passkey. */
export async function startLocal(app: App, request: Request, { browserOf }: PendingPlace): Promise<Reply> {
  const { key, cookie } = browserOf(request)
  const query = new URLSearchParams({ request: await adminEntry(app, digest(key)) })
  return redirect(`${app.config.server.issuer}${ADMIN_ENTRY_PATH}?${query}`, { 'set-cookie': cookie })
}

/** Starts the session of the person whom a code names. Throws access_denied. */
export async function finishLocal(app: App, request: Request, { browserOf }: PendingPlace): Promise<Reply> {
  const { code = '' } = parseParams(request.query)
  const user_id = await openAdminCode(app, digest(browserOf(request).key), code)
  const user = user_id === undefined ? undefined : await app.store.findUser({ id: user_id })
  if (!user || !isLocalAdmin(app, user))
    throw new OAuthError('access_denied', 'this sign-in has expired, was used, or is not of an admin', {
      reason: 'admin_local_sign_in',
    })
  const identity = localIdentityOf(user)
  const isSecure = app.config.admin.sign_in.url.startsWith('https:')
  const cookie = await startAdminSession(app, { user_id: user.id, identity }, isSecure)
  const detail = { user_id: user.id }
  await audit(app, { action: 'admin_ui_login', actor_id: identity.actor_id, ...sentBy(request), detail })
  return redirect(PAGE_PATH, { 'set-cookie': cookie })
}
