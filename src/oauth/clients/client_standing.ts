// How much a client, or the caller that names it, is trusted with outgoing requests.

import type { RequestHead } from '../../http/message.ts'
import { subscriber } from '../../http/rate_limit.ts'
import type { Standing } from '../../net/standing.ts'
import type { Client } from '../../records/client.ts'
import { isUnstored } from './document_client.ts'

/** Who sends a request that names a client. */
export interface Asker {
  /** The part of its address that identifies a subscriber. */
  address: string
  /** The user whose session it has. */
  user_id?: string
  /** A policy of an operator names the client, and a verified assertion of an identity provider is for it. */
  isVouched?: true
}

/** The sender of a request. Without a user it counts as anonymous. */
export const askerOf = ({ remote }: Pick<RequestHead, 'remote'>, user?: { id: string }): Asker => ({
  address: subscriber(remote),
  user_id: user?.id,
})

/**
 * The standing of a client. A document client is stored when a user consents, and a registered one gets its first token then. Any other client
 * has the standing of the caller that names it.
 */
export function standingOf(client: Client | undefined, asker?: Asker): Standing {
  if (client && (client.registration_source === 'admin' || client.operator_set)) return 'operator'
  const isUsed =
    client && (client.registration_source === 'cimd' ? !isUnstored(client) : client.last_used_at !== undefined)
  if (isUsed) return 'consented'
  return asker?.user_id === undefined ? 'anonymous' : 'person'
}
