// POST /oidc/backchannel-logout, and the same with the slug of a further provider: the provider ends the sessions of a user
// (OpenID Connect Back-Channel Logout 1.0).
import { disconnect } from '../broker/connection.ts'
import type { App, LogoutToken, OidcProvider } from '../context.ts'
import { empty, NO_STORE, parseForm, type Reply, type Request } from '../http/message.ts'
import { subscriber } from '../http/rate_limit.ts'
import { checkWait, OAuthError } from '../lib/error.ts'
import { newAuditEvent, SYSTEM, sentBy } from '../oauth/audit.ts'
import { providerNamed } from '../oauth/federation/oidc_providers.ts'
import { consumeOnce } from '../oauth/tokens/single_use.ts'

/** Ends the sessions that a logout token names; with `logout_ends_grants` also the refresh tokens and connections of the user. */
export async function backchannelLogout(app: App, request: Request): Promise<Reply> {
  const provider = providerNamed(app, request.params['provider'])
  const { logout_token } = parseForm(request)
  if (logout_token === undefined)
    throw new OAuthError('invalid_request', 'logout_token is missing', { reason: 'logout_no_token' })
  const token = await verifyWithinLimit(provider, request, logout_token)
  const { issuer } = provider.settings
  if (!(await consumeOnce(app, 'logout_token', issuer, token.jti, token.valid_until)))
    throw new OAuthError('invalid_request', 'the logout token was used before', { reason: 'logout_used' })
  await endSessions(app, request, provider, token)
  return empty(200, NO_STORE)
}

/** Limits the invalid tokens that each address may send, because the endpoint has no authentication. */
async function verifyWithinLimit(provider: OidcProvider, request: Request, text: string): Promise<LogoutToken> {
  const address = subscriber(request.remote)
  const wait = provider.failures.wait(address)
  checkWait(wait, 'too many invalid logout tokens from your address', 'logout_too_many_failures')
  try {
    return await provider.verifyLogout(text)
  } catch (error) {
    provider.failures.take(address)
    throw error
  }
}

async function endSessions(
  app: App,
  request: Request,
  { slug, settings }: OidcProvider,
  { sub, sid }: LogoutToken,
): Promise<void> {
  const { issuer, logout_ends_grants } = settings
  const now = app.clock.now()
  const event = newAuditEvent(app, {
    action: 'user_backchannel_logout',
    // The operation finds the user.
    actor_id: '',
    ...sentBy(request),
    detail: { provider: slug, federated_subject: sub },
  })
  const named = { issuer, sub, sid, families: logout_ends_grants, now }
  const ended = await app.store.recorded('endFederatedSessions', named, event)
  if (ended && logout_ends_grants) await endConnections(app, request, ended.user_id)
}

async function endConnections(app: App, request: Request, user_id: string): Promise<void> {
  const live = (await app.store.listBrokerGrants({ user_id })).filter(({ revoked_at }) => revoked_at === undefined)
  for (const { id } of live)
    await disconnect(app, id, { ...SYSTEM, ...sentBy(request) }, { reason: 'backchannel_logout' })
}
