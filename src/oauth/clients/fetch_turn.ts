// The share of the outgoing requests that one caller, or the clients of one user, may have. A place is taken for each caller before it starts a
// fetch that others share, so that no caller is refused for the places that another one took.
import type { App } from '../../context.ts'
import { AT_ONCE, type PlaceTurn } from '../../net/semaphore.ts'
import type { Client } from '../../records/client.ts'
import { type Asker, standingOf } from './client_standing.ts'

/**
 * Waits for the places of a fetch for a client: one of the user or the address that asks, and one of the only user who consented to the client.
 * Clients of operators need none.
 */
export function fetchTurn({ documents, store }: App, client: Client | undefined, asker: Asker): PlaceTurn {
  const standing = standingOf(client, asker)
  if (standing === 'operator') return AT_ONCE
  const caller = asker.user_id === undefined ? `address ${asker.address}` : `user ${asker.user_id}`
  return async (work) => {
    const owner = client && standing === 'consented' ? await ownerOf(store, client) : undefined
    const ofOwner = owner === undefined ? work : () => documents.places.run(`owner ${owner}`, work)
    return documents.places.run(`${standing} ${caller}`, ofOwner)
  }
}

/** The only user who consented to a client, or a common name for the clients without a known user. Undefined if several users did. */
async function ownerOf(store: App['store'], { client_id }: Client): Promise<string | undefined> {
  const [owner = 'none', ...others] = await store.listConsenters({ client_id })
  return others.length > 0 ? undefined : owner
}
