// Clients as the admin API shows them: with what they got lately, and with a warning when their keys cannot be fetched.
import type { App } from '../../context.ts'
import type { Client } from '../../records/client.ts'
import { sharedFaultsIn, withHostWarning } from '../unreachable.ts'
import { withActivity } from './by_tokens.ts'
import { clientJson, secretsJson } from './client_members.ts'

/** A page of clients, without the documents that operators keep. Only the hosts of clients that operators registered are looked up: others could name very many slow hosts. */
export async function shownInList(app: App, found: Client[], activity: boolean) {
  const short = found.map(({ kept_document: _, ...client }) => client)
  const entries = activity ? await withActivity(app, short) : short.map((client) => ({ client }))
  const faultOf = sharedFaultsIn(app)
  return Promise.all(
    entries.map(async ({ client, ...counts }) => ({
      ...(client.registration_source === 'admin' ? await withKeyWarning(app, client, faultOf) : clientJson(client)),
      ...counts,
    })),
  )
}

/** A client with its secrets, which lists of clients do not show. */
export async function shownAlone(app: App, stored: Client) {
  const [seen] = await withActivity(app, [stored])
  const { client = stored, ...counts } = seen ?? {}
  return { ...(await withKeyWarning(app, client)), ...counts, ...(await secretsJson(app, client)) }
}

/** A client with a warning when its keys cannot be fetched. */
export const withKeyWarning = (app: App, client: Client, faultOf?: ReturnType<typeof sharedFaultsIn>) => {
  const federated = client.federated_credentials ?? []
  const issuers = federated.map(({ jwks_uri, issuer }) => ['xaa', jwks_uri ?? issuer] as const)
  return withHostWarning(app, clientJson(client), [['cimd', client.jwks_uri], ...issuers], faultOf)
}
