// POST /oauth/register: dynamic client registration (RFC 7591), within the registration mode in force.
import type { App } from '../context.ts'
import { json, NO_STORE, parseJson, type Reply, type Request } from '../http/message.ts'
import { subscriber } from '../http/rate_limit.ts'
import { quoteNames } from '../lib/bounded.ts'
import { checkWait, OAuthError } from '../lib/error.ts'
import { newAuditEvent, sentBy } from '../oauth/audit.ts'
import {
  type ClientMetadata,
  newClient,
  offeredToAll,
  refuseMetadata,
  shownClient,
} from '../oauth/clients/client_metadata.ts'
import { auditedFields } from '../oauth/clients/document_client.ts'
import { matchesPattern } from '../oauth/clients/redirect_pattern.ts'
import { effectiveDcrMode } from '../oauth/clients/registration_mode.ts'
import { parseRegistration, saidIn, selfRegisteredGrants, sizeFault } from '../oauth/clients/self_description.ts'

/** Registers a client. Throws access_denied, slow_down, invalid_redirect_uri or invalid_client_metadata. */
export async function register(app: App, request: Request): Promise<Reply> {
  const mode = await effectiveDcrMode(app)
  // Checked first: a caller that may not register writes nothing, not even a rate limit.
  if (mode === 'admin_only')
    throw new OAuthError('access_denied', 'clients are registered by an administrator', { reason: 'admin_only' })
  const wait = app.config.rate_limit.enabled ? await app.registrations.take(subscriber(request.remote)) : 0
  checkWait(wait, 'too many registrations', 'registration_rate')
  const input = saidIn(parseJson(request))
  if (input['jwks'] !== undefined && input['jwks_uri'] !== undefined)
    throw new OAuthError('invalid_client_metadata', 'jwks and jwks_uri exclude each other')
  const metadata = parseRegistration(input, {
    grant_types: selfRegisteredGrants(app.config, mode),
    ...offeredToAll(app.config),
  })
  const isApprovedOnly = mode === 'approved_redirects'
  if (isApprovedOnly) checkApproved(app, metadata.redirect_uris)
  const registered = isApprovedOnly ? withApprovedReturns(app, metadata) : metadata
  const { client, client_secret } = newClient(registered, 'dcr', app.clock.now())
  const fault = sizeFault(client)
  if (fault) throw refuseMetadata([fault])
  const event = newAuditEvent(app, {
    action: 'client_registered',
    actor_id: '',
    client_id: client.client_id,
    ...sentBy(request),
    detail: auditedFields(client),
  })
  await app.store.recorded('createClient', client, event)
  request.notes.client_id = client.client_id
  app.metrics.count('core_clients_registered_total', { source: 'dcr' })
  const { client_id, issued_at, is_agent, agent_description, scope } = client
  return json(
    201,
    {
      client_id,
      ...(client_secret ? { client_secret, client_secret_expires_at: 0 } : {}),
      client_id_issued_at: issued_at,
      ...shownClient(client),
      scope: scope || undefined,
      ...(is_agent ? { agent: true } : {}),
      ...(agent_description ? { agent_description } : {}),
    },
    NO_STORE,
  )
}

const isApproved = ({ config }: App, uri: string): boolean =>
  config.dcr.approved_redirects.some((pattern) => matchesPattern(pattern, uri))

/** Removes redirect URIs after a logout, and the URI that logouts are reported to, that are not approved. A client works without them. */
function withApprovedReturns(app: App, metadata: ClientMetadata): ClientMetadata {
  const { post_logout_redirect_uris: uris, backchannel_logout_uri: logout = '' } = metadata
  return {
    ...metadata,
    post_logout_redirect_uris: uris?.filter((uri) => isApproved(app, uri)),
    backchannel_logout_uri: isApproved(app, logout) ? logout : undefined,
  }
}

function checkApproved(app: App, uris: readonly string[]): void {
  const unapproved = uris.filter((uri) => !isApproved(app, uri))
  if (unapproved.length > 0)
    throw new OAuthError('invalid_redirect_uri', `not approved: ${quoteNames(unapproved)}`, {
      reason: 'redirect_not_approved',
    })
}
