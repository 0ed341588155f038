// Finds the client that a request names.
import type { App } from '../context.ts'
import type { Client } from '../records/client.ts'
import { isUrlShaped, resolveDocumentClient } from './cimd.ts'

/** Maximum length of a client_id. */
const MAX_CREDENTIAL = 2048

/** The stored client with this client_id, whatever its status. */
export const resolveClient = (app: App, client_id: string): Promise<Client | undefined> =>
  client_id.length > MAX_CREDENTIAL ? Promise.resolve(undefined) : app.store.findClient({ client_id })

/**
 * The client that authenticates itself: the stored one, or with device.enabled the client of a document. Before its first user consents, such a
 * client can ask for a device code, and poll.
 */
export const findClientOrDocument = async (app: App, client_id: string): Promise<Client | undefined> =>
  (await resolveClient(app, client_id)) ??
  (app.config.device.enabled && isUrlShaped(client_id) ? resolveDocumentClient(app, client_id) : undefined)
