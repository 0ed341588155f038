// GET /admin-sign-in: a local user with the role admin signs in with a passkey for the admin page, which is at another origin.
import type { App } from '../../context.ts'
import { parseParams, type Reply, type Request, redirect } from '../../http/message.ts'
import { OAuthError } from '../../lib/error.ts'
import { adminCode, openAdminEntry } from '../../oauth/sign_in/admin_entry.ts'
import { loginUrl, pathAndQuery, toFactor } from '../pages/urls.ts'
import { findSignedIn } from '../session.ts'

/** Sends a person who has just signed in with a passkey back to the admin page, others to the sign-in. Throws access_denied. */
export async function enterAdmin(app: App, request: Request): Promise<Reply> {
  const entry = await openAdminEntry(app, parseParams(request.query)['request'] ?? '')
  if (!entry) throw new OAuthError('invalid_request', 'this sign-in has expired', { reason: 'waiting_request_expired' })
  const signedIn = await findSignedIn(app, request)
  if (!signedIn || signedIn.session.created_at < entry.at)
    return redirect(await loginUrl(app, request, pathAndQuery(request), true))
  const { user, session } = signedIn
  if (user.provider !== 'local' || user.role !== 'admin')
    throw new OAuthError('access_denied', 'only a local user with the role admin may sign in to the admin page here', {
      reason: 'admin_local_sign_in',
      about: { user_id: user.id },
    })
  if (session.acr !== 'phr') {
    const factors = await app.store.listFactors({ user_id: user.id })
    const has = factors.some(({ kind }) => kind === 'passkey')
    return has
      ? redirect(await loginUrl(app, request, pathAndQuery(request), true))
      : toFactor(app, request, pathAndQuery(request))
  }
  const code = await adminCode(app, entry.admin_browser, user.id)
  const { origin } = new URL(app.config.admin.sign_in.url)
  return redirect(`${origin}/admin/ui/sign-in/local/callback?${new URLSearchParams({ code })}`)
}
