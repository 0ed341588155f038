// The consent_url of a token exchange, opened in a browser as it is: a consent without an authorization code, because no client waits for an
// answer. A client with a redirect URI may complete the same URL to an authorization request instead.
import type { App } from '../context.ts'
import type { Params, Reply, Request } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { newId } from '../lib/id.ts'
import { askerOf } from '../oauth/clients/client_standing.ts'
import { isUnstored } from '../oauth/clients/document_client.ts'
import { dueSignIn, parseAuthenticationRequest, parsePrompt } from '../oauth/sign_in/authentication_request.ts'
import { resolveAskingClient } from '../oauth/sign_in/authorization.ts'
import { queryAfterLogin, requiredLoginAt } from '../oauth/sign_in/required_login.ts'
import { decideAccess } from '../oauth/tokens/access.ts'
import { authorizedScope } from '../oauth/tokens/requested_scope.ts'
import { resolveMint } from '../oauth/tokens/resource.ts'
import { personOf } from '../records/user.ts'
import { refuseDeviceAccess } from './pages/access_refused.ts'
import { answerUnapproved } from './pages/approval.ts'
import { loginUrl, pathAndQuery, toLogin } from './pages/urls.ts'
import { askConsent } from './pending_request.ts'
import type { SignedIn } from './session.ts'
import { stepUp } from './sign_in/step_up.ts'

/** Seconds that a user has for the decision. */
const LIFETIME = 600

/** Whether a request asks for a consent alone: it names a client and a resource, and nothing that an answer to the client needs. */
export const asksConsentAlone = (params: Params): boolean =>
  params.client_id !== undefined &&
  params.resource !== undefined &&
  [params.response_type, params.redirect_uri, params.code_challenge, params.state].every((each) => each === undefined)

/**
 * Shows the consent page, after a sign-in. Throws what an authorization request throws, for this page. That is also the answer to
 * `prompt=none`, because the user may not be asked and no client waits for an error.
 */
export async function askConsentAlone(
  app: App,
  http: Request,
  params: Params,
  signedIn: SignedIn | undefined,
): Promise<Reply> {
  const client = await resolveAskingClient(app, params, askerOf(http, signedIn?.user))
  const resource = await resolveMint(app, params.resource ?? '')
  const asked = await authorizedScope(app, params.scope, resource, client)
  const prompt = parsePrompt(app, params.prompt)
  if (prompt.includes('none'))
    throw new OAuthError('consent_required', 'a consent_url asks the user, which prompt=none forbids', { status: 400 })
  const authentication = await parseAuthenticationRequest(app, params, client)
  const login_at = requiredLoginAt(app, params, signedIn?.login_for)
  const due = dueSignIn(app, { prompt, authentication }, signedIn?.session, login_at)
  const comeBack = `${http.path}?${queryAfterLogin(app, params, http.query)}`
  if (!signedIn || due === 'sign_in') return toLogin(app, http, comeBack, prompt.includes('login'))
  const unapproved = await answerUnapproved(app, http, { client, resource, user: signedIn.user })
  if (unapproved) return unapproved
  if (due) return stepUp(app, http, signedIn, { classes: authentication.acr_values, prompt, comeBack })
  const { user, session } = signedIn
  const { scope, refused_by: rule } = decideAccess(resource, personOf(user), asked, session)
  const { client_id } = client
  if (rule) {
    const another = await loginUrl(app, http, pathAndQuery(http), true)
    return refuseDeviceAccess(app, http, client_id, { user, resource, rule, another })
  }
  const now = app.clock.now()
  return askConsent(app, http, {
    id: newId(),
    client_id,
    user_id: user.id,
    session_id: session.id,
    redirect_uri: '',
    redirect_uri_sent: false,
    scope: scope.join(' '),
    asked_scope: asked.join(' '),
    resource: resource.uri,
    code_challenge: '',
    client: isUnstored(client) ? client : undefined,
    created_at: now,
    expires_at: now + LIFETIME,
  })
}
