// Finds the client that a request names.
import type { App } from '../../context.ts'
import { OAuthError } from '../../lib/error.ts'
import { type Client, isDocumentGone } from '../../records/client.ts'
import { refuseClient } from './assertion_kind.ts'
import { isUrlShaped, resolveDocumentClient } from './cimd.ts'
import type { Asker } from './client_standing.ts'
import { HOST_REFUSED, isHostAllowed } from './document_host.ts'

/** Maximum length of a client_id. */
const MAX_CREDENTIAL = 2048

/** The stored client with this client_id, whatever its status. */
export const resolveClient = (app: App, client_id: string): Promise<Client | undefined> =>
  client_id.length > MAX_CREDENTIAL ? Promise.resolve(undefined) : app.store.findClient({ client_id })

/**
 * The client that authenticates itself: the stored one, or the client of a document, with device.enabled or by an assertion. Before its first user
 * consents, such a client can ask for a device code, and poll. Throws invalid_client when its host is not allowed, or has ended the client and
 * does so still.
 */
export async function findClientOrDocument(app: App, client_id: string, asker: Asker): Promise<Client | undefined> {
  const isDocument = isUrlShaped(client_id)
  if (isDocument && !isHostAllowed(app, client_id)) throw refuseClient(HOST_REFUSED)
  const mayFetch = isDocument && (app.config.device.enabled || asker.isVouched)
  const stored = await resolveClient(app, client_id)
  if (stored) return isDocumentGone(stored) ? followedClient(app, client_id, asker) : stored
  return mayFetch ? resolveDocumentClient(app, client_id, asker) : undefined
}

/** A stored client as its document is now. Throws invalid_client, as for a client that cannot authenticate. */
export async function followedClient(app: App, client_id: string, asker: Asker): Promise<Client> {
  try {
    return await resolveDocumentClient(app, client_id, asker)
  } catch (error) {
    throw error instanceof OAuthError && error.code === 'invalid_client' ? refuseClient(error.reason) : error
  }
}
