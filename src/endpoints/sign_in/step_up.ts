// A request that needs more of the sign-in than the session of a local user has (RFC 9470).
import type { App } from '../../context.ts'
import type { Reply, Request } from '../../http/message.ts'
import { OAuthError } from '../../lib/error.ts'
import { pathAndQuery, toFactor, toLogin } from '../pages/urls.ts'
import type { SignedIn } from '../session.ts'

interface StepUp {
  /** Authentication context classes of which one is needed. */
  classes: readonly string[]
  prompt: readonly string[]
  /** The local path of the same request, for after the sign-in. */
  comeBack: string
}

/** To the sign-in with the factor, or to the page that adds one; both lead back. Throws unmet_authentication_requirements with prompt=none. */
export async function stepUp(
  app: App,
  request: Request,
  { user }: SignedIn,
  { classes, prompt, comeBack }: StepUp,
): Promise<Reply> {
  if (prompt.includes('none'))
    throw new OAuthError('unmet_authentication_requirements', 'the user has not signed in with a second factor')
  const factors = await app.store.listFactors({ user_id: user.id })
  const has = factors.some(({ kind }) => kind === 'passkey' || classes.includes('mfa'))
  return has ? toLogin(app, request, comeBack, true) : toFactor(app, request, pathAndQuery(request))
}
