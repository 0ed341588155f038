// Finds the client that a request names.
import type { App } from '../context.ts'
import type { Client } from '../records/client.ts'

/** Maximum length of a client_id. */
const MAX_CREDENTIAL = 2048

/** The stored client with this client_id, whatever its status. */
export const resolveClient = async (app: App, client_id: string): Promise<Client | undefined> =>
  client_id.length > MAX_CREDENTIAL ? undefined : app.store.findClient({ client_id })
