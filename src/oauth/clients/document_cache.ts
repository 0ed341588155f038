// The copies of client documents in memory, and the limits on fetching them.
import type { App, DocumentCache, Documents, KnownDocument } from '../../context.ts'
import { type BucketStore, SharedBuckets } from '../../http/shared_buckets.ts'
import { Lru } from '../../lib/lru.ts'
import { MB, memoryOf } from '../../lib/memory.ts'
import { SingleFlight } from '../../lib/threads/single_flight.ts'
import { Semaphores } from '../../net/semaphore.ts'
import type { Standing } from '../../net/standing.ts'
import type { Client } from '../../records/client.ts'
import { openDocumentChanges } from './document_client.ts'

/** A document takes at most 50 KB of memory, and usually 1 KB. */
const [MAX_DOCUMENTS, MAX_BYTES] = [1000, { ofStored: 8 * MB, ofOthers: 4 * MB }]
/** A refusal, with its text of at most 2 KB. */
const KNOWN_BYTES = 2048
const FETCHES_PER_SECOND = 10
const FETCH_BURST = 50
/** Maximum number of concurrent fetches that one caller, or the clients of one user, cause. */
const PLACES = 8

/** Opens the cache of documents. The rate limits are counted in the store. */
export const openDocuments = (store: BucketStore): Documents => ({
  known: openCache(),
  loading: new SingleFlight(),
  places: new Semaphores(PLACES),
  hosts: new SharedBuckets('document', { rate: FETCHES_PER_SECOND, burst: FETCH_BURST }, store),
  changes: openDocumentChanges(store),
})

/** Anonymous callers can name any number of documents, so that those of stored clients are kept apart from all others. */
function openCache(): DocumentCache {
  const sizeOf = ({ client }: KnownDocument) => KNOWN_BYTES + memoryOf(client)
  const room = (bytes: number) => new Lru<KnownDocument>({ max: MAX_DOCUMENTS, bytes, sizeOf })
  const [ofStored, ofOthers] = [room(MAX_BYTES.ofStored), room(MAX_BYTES.ofOthers)]
  return {
    get: (client_id) => ofStored.get(client_id) ?? ofOthers.get(client_id),
    set(client_id, known, isStored) {
      const [room, other] = isStored ? [ofStored, ofOthers] : [ofOthers, ofStored]
      other.delete(client_id)
      room.set(client_id, known)
    },
    delete(client_id) {
      ofStored.delete(client_id)
      ofOthers.delete(client_id)
    },
  }
}

/** Seconds before a fetch that failed is tried again. */
const FAILURE_SECONDS = 30

/** The client of a copy that is fresh. Throws why the document cannot be used. */
export function freshCopy(
  { clock }: Pick<App, 'clock'>,
  last: KnownDocument | undefined,
  standing: Standing,
): Client | undefined {
  if (!last || last.until <= clock.now()) return undefined
  // A fetch for an anonymous caller may have failed because of what other anonymous callers did.
  if (last.failure && last.standing === standing) throw last.failure
  return last.client
}

/** Remembers why a document cannot be used. */
export function noteFailure(
  { documents, clock }: App,
  client_id: string,
  about: Pick<KnownDocument, 'standing' | 'failure'>,
  stored: Client | undefined,
): void {
  documents.known.set(client_id, { until: clock.now() + FAILURE_SECONDS, ...about }, stored !== undefined)
}
