// Which clients an operator must approve (clients.approval), and the requests that wait for it.
import type { Config } from '../../config/schema.ts'
import type { App } from '../../context.ts'
import { type ErrorCode, OAuthError } from '../../lib/error.ts'
import { newId } from '../../lib/id.ts'
import type { Client, ClientRequest } from '../../records/client.ts'
import type { Resource } from '../../records/resource.ts'
import { type AuditActor, newAuditEvent } from '../audit.ts'
import { isUnstored } from './document_client.ts'
import { placeOf } from './redirect_uri.ts'

/** Maximum number of requests that wait. The oldest goes. */
export const MAX_WAITING = 1000
/** The oldest of a person who caused more of them than this go first, so that one person does not push out the requests of others. */
const MOST_OF_PERSON = 100

/** Whether a client is one of those that an operator must approve. */
export const needsApproval = ({ clients }: Pick<Config, 'clients'>, { registration_source: source }: Client): boolean =>
  clients.approval !== 'none' && (source === 'cimd' || (source === 'dcr' && clients.approval === 'all'))

/**
 * Whether an operator has approved a client, if it needs that. A client that operators created, or that got tokens before, is approved. A document client
 * is stored when its first user allows it, when an operator wants it, or for the assertion that a policy admits.
 */
export async function approvalOf(app: Pick<App, 'config' | 'store'>, client: Client): Promise<ClientRequest['status']> {
  if (!needsApproval(app.config, client)) return 'approved'
  const { client_id, registration_source: source, last_used_at } = client
  const decided = (await app.store.findClientRequest({ client_id }))?.status ?? 'waiting'
  if (decided !== 'waiting') return decided
  return (source === 'cimd' ? !isUnstored(client) : last_used_at !== undefined) ? 'approved' : 'waiting'
}

/** Returns whether a client is approved or waits. Throws a refusal for one that an operator has denied. */
export async function checkNotDenied(app: App, client: Client, code: ErrorCode): Promise<'approved' | 'waiting'> {
  const status = await approvalOf(app, client)
  if (status === 'denied') throw new OAuthError(code, 'an operator has denied this client', { reason: 'client_denied' })
  return status
}

/** Throws unauthorized_client for a client that no operator has approved. For grants without a user. */
export async function checkApproved(app: App, client: Client): Promise<void> {
  if ((await checkNotDenied(app, client, 'unauthorized_client')) === 'waiting') throw notApproved('unauthorized_client')
}

/** The refusal of a client that waits for its approval. */
export const notApproved = (code: ErrorCode): OAuthError =>
  new OAuthError(code, 'an operator must approve this client first', { reason: 'client_not_approved' })

/** Records that a user wants to use a client. The event is recorded with the first request only. */
export async function requestApproval(
  app: App,
  { client, resource, user_id }: { client: Client; resource?: Resource; user_id: string },
  by: Pick<AuditActor, 'ip' | 'request_id'>,
): Promise<void> {
  const now = app.clock.now()
  const { client_id, client_name } = client
  const redirect_hosts = [...new Set(client.redirect_uris.map(placeOf))]
  const request: ClientRequest = {
    id: newId(),
    client_id,
    client_name,
    redirect_hosts,
    requested_by: user_id,
    resource: resource?.uri,
    count: 1,
    status: 'waiting',
    first_at: now,
    last_at: now,
  }
  const detail = { client_name, redirect_hosts }
  const event = newAuditEvent(app, { ...by, action: 'client_requested', actor_id: user_id, client_id, detail })
  await app.store.recorded('requestClient', { request, max: MAX_WAITING, most_of_person: MOST_OF_PERSON }, event)
}
