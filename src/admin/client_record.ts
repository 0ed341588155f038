// Reading and changing the record of one client.
import type { App } from '../context.ts'
import type { Client } from '../records/client.ts'
import { notFound, retryStale } from './outcome.ts'

/** The client with this id. Throws not_found. */
export async function getClient({ store }: App, client_id: string): Promise<Client> {
  const client = await store.findClient({ client_id })
  if (!client) throw notFound('client')
  return client
}

/** Writes the result of `next` for a client. Retries when another write came first. */
export const changeClient = (app: App, client_id: string, next: (client: Client) => Client): Promise<Client> =>
  retryStale(async () => {
    const changed = { ...next(await getClient(app, client_id)), updated_at: app.clock.now() }
    return (await app.store.updateClient(changed)) === 'stale' ? 'stale' : changed
  })
