// Values that browsers come back for: a sign-in at a provider, and a request that is too long for the URL of the login page. They are
// stored encrypted, with keys that are not stored. Unknown users cause them, so their bytes are limited, and a new one never replaces another.
import type { App, Room } from '../../context.ts'
import { createSealer, type Sealer } from '../../crypto/seal.ts'
import { subscriber } from '../../http/rate_limit.ts'
import { type BucketStore, SharedBuckets } from '../../http/shared_buckets.ts'
import { isId } from '../../lib/id.ts'

/** How long a value is kept. A person who comes back later than the value is valid still finds the way to the application. */
export const KEPT_SECONDS = 3600
export const KILOBYTE = 1024
interface Sizes {
  name: string
  ofAddress: number
  ofClient?: number
  ofAll: number
}
/** The kilobytes of one address and of all addresses. When a few addresses have filled the first room, others still have the second one. */
const OF_SIGN_INS: readonly Sizes[] = [
  { name: 'pending', ofAddress: 8 * KILOBYTE, ofAll: 256 * KILOBYTE },
  { name: 'small pending', ofAddress: 64, ofAll: 64 * KILOBYTE },
]
/** The same for pushed requests. Programs push them without a person, so they are apart from sign-ins, and one client leaves room to the others. */
const OF_PUSHED: readonly Sizes[] = [
  { name: 'pushed', ofAddress: 8 * KILOBYTE, ofClient: 32 * KILOBYTE, ofAll: 128 * KILOBYTE },
  { name: 'small pushed', ofAddress: 64, ofClient: 16 * KILOBYTE, ofAll: 64 * KILOBYTE },
]

const openRooms = (store: BucketStore, sizes: readonly Sizes[]): Room[] =>
  sizes.map(({ name, ofAddress, ofClient, ofAll }) => {
    const bucket = (kind: string, burst: number) =>
      new SharedBuckets(kind, { rate: burst / KEPT_SECONDS, burst }, store)
    const client = ofClient === undefined ? undefined : bucket(`client ${name}`, ofClient)
    return { address: bucket(name, ofAddress), client, all: bucket(`all ${name}`, ofAll) }
  })

/** Opens the limits on kilobytes, in the order in which they are used. */
export const openPendingRooms = (store: BucketStore): Pick<App, 'pending' | 'pushed'> => ({
  pending: openRooms(store, OF_SIGN_INS),
  pushed: openRooms(store, OF_PUSHED),
})

/** The client that pushes a request. */
interface Pusher {
  client_id: string
  /** Operators created it, so that there are only as many as they want: it has its own part, and none of what all others share. */
  isOfOperators: boolean
}

/** Takes room of an address, and of a client, for a value of `cost` kilobytes. Returns 0, or the seconds until a room has it. */
export async function takeRoom(rooms: readonly Room[], remote: string, cost: number, pusher?: Pusher): Promise<number> {
  let shortest = 0
  for (const { address, client, all } of rooms) {
    // The smallest part first, so that who has no room does not use up the room of others.
    const wait =
      (await address.take(subscriber(remote), cost)) ||
      (pusher && (await client?.take(pusher.client_id, cost))) ||
      (pusher?.isOfOperators ? 0 : await all.take('', cost))
    if (wait === 0) return 0
    shortest = shortest === 0 ? wait : Math.min(shortest, wait)
  }
  return shortest
}

/** Longer than a value with the longest request can be. */
const MAX_SEALED = 64 * KILOBYTE
/** Encrypts and decrypts what is stored for the holder of a key. */
export const sealerFor = (key: string): Pick<Sealer, 'seal' | 'open'> => createSealer([key], MAX_SEALED)

/** Keeps a value for the holder of a key, under a new id. Returns 0, or the seconds until there is room for it. */
export async function keepValue(
  app: App,
  remote: string,
  { id, key, value }: { id: string; key: string; value: object },
): Promise<number> {
  const sealed = await sealerFor(key).seal(value)
  const cost = Math.ceil(sealed.length / KILOBYTE)
  const wait = await takeRoom(app.pending, remote, cost)
  if (wait > 0) return wait
  const now = app.clock.now()
  await app.store.keepPendingValue({ id, sealed, expires_at: now + KEPT_SECONDS, now })
  return 0
}

/** The value with an id, if it is kept and the key fits. */
export async function findValue(app: App, id: string, key: string): Promise<Record<string, unknown> | undefined> {
  const found = isId(id) ? await app.store.findPendingValue({ id, now: app.clock.now() }) : undefined
  return found && sealerFor(key).open(found.sealed)
}
