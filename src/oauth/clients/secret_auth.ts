// Client authentication with a secret, and the clients that only name themselves (RFC 6749 §2.3.1).
import type { App } from '../../context.ts'
import type { Client } from '../../records/client.ts'
import { refuseClient, refuseSuspended } from './assertion_kind.ts'
import { isPublic } from './client_metadata.ts'
import { findSecret, isLiveSecret, noteSecretUse } from './client_secret.ts'
import type { Asker } from './client_standing.ts'
import { findClientOrDocument } from './find_client.ts'

export interface SecretCredentials {
  client_id: string
  /** Missing for a client that only names itself. */
  client_secret?: string
}

/** The client whose secret was sent, or a public client that sent none. Throws invalid_client. */
export async function verifySecret(
  app: App,
  { client_id, client_secret }: SecretCredentials,
  asker: Asker,
): Promise<Client> {
  const client = await findClientOrDocument(app, client_id, asker)
  // For a client that does not exist the same work is done, so that the time does not reveal which clients exist.
  const secret = client_secret === undefined ? undefined : findSecret(client, client_secret)
  if (!client) throw refuseClient('unknown_client')
  if (client_secret === undefined) {
    if (!isPublic(client) && client.secrets === undefined)
      throw refuseClient('missing_assertion', 'client_assertion is missing')
    if (!isPublic(client)) throw refuseClient('missing_secret')
  } else {
    if (client.secrets === undefined)
      throw refuseClient(isPublic(client) ? 'secret_of_public_client' : 'secret_of_keyed_client')
    if (!secret) throw refuseClient('wrong_secret')
    if (!isLiveSecret(secret, app.clock.now())) throw refuseClient('expired_secret')
  }
  if (client.status !== 'active') throw refuseSuspended()
  if (secret) noteSecretUse(app, client, secret)
  return client
}
