// Reading and changing the record of one client.
import type { App } from '../context.ts'
import type { AuditEvent } from '../records/audit_event.ts'
import type { Client } from '../records/client.ts'
import type { Change, Recorder } from './action.ts'
import { notFound, retryStale } from './outcome.ts'

/** The client with this id. Throws not_found. */
export async function getClient({ store }: App, client_id: string): Promise<Client> {
  const client = await store.findClient({ client_id })
  if (!client) throw notFound('client')
  return client
}

/** Writes the result of `next` for a client, with the event whose detail `detailOf` returns. Retries when another write came first. */
export const changeClient = (
  app: App,
  client_id: string,
  by: Recorder,
  next: (client: Client) => Client,
  detailOf: (changed: Client) => Change['detail'] = () => ({}),
): Promise<Client> =>
  retryStale(async () => {
    const changed = { ...next(await getClient(app, client_id)), updated_at: app.clock.now() }
    return writeClient(app, changed, by.event({ client_id, detail: detailOf(changed) }))
  })

/** Writes a client that was read before, with its event. */
export const writeClient = async (app: App, client: Client, event: AuditEvent): Promise<Client | 'stale'> =>
  (await app.store.recorded('updateClient', client, event)) === 'stale' ? 'stale' : client
