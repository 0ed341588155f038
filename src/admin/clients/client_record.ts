// Reading and changing the record of one client.
import type { App } from '../../context.ts'
import type { Client } from '../../records/client.ts'
import type { Change, Recorder } from '../action.ts'
import { existing } from '../outcome.ts'
import { checkClientChange } from '../rights.ts'

/** The client with this id. Throws not_found. */
export const getClient = ({ store }: App, client_id: string) => existing('client', store.findClient({ client_id }))

/** Writes the result of `next` for a client, with the event whose detail `detailOf` returns. Throws access_denied for a credential that the caller may not give. */
export async function changeClient(
  app: App,
  client_id: string,
  by: Recorder,
  next: (client: Client) => Client,
  detailOf: (changed: Client) => Change['detail'] = () => ({}),
): Promise<Client> {
  const client = await getClient(app, client_id)
  const changed = { ...next(client), updated_at: app.clock.now() }
  await checkClientChange(app, by, changed, client)
  await by.record('updateClient', changed, { client_id, detail: detailOf(changed) })
  return changed
}
