// Values that browsers come back for: a sign-in at a provider, and a request that is too long for the URL of the login page. They are
// stored encrypted, with keys that are not stored. Unknown users cause them, so their bytes are limited, and a new one never replaces another.
import type { App } from '../../context.ts'
import { createSealer, type Sealer } from '../../crypto/seal.ts'
import { subscriber } from '../../http/rate_limit.ts'
import { type BucketStore, SharedBuckets } from '../../http/shared_buckets.ts'
import { isId } from '../../lib/id.ts'

/** How long a value is kept. A person who comes back later than the value is valid still finds the way to the application. */
export const KEPT_SECONDS = 3600
export const KILOBYTE = 1024
/** The kilobytes of one address and of all addresses. When a few addresses have filled the first room, others still have the second one. */
const ROOMS = [
  { name: 'pending', ofAddress: 8 * KILOBYTE, ofAll: 256 * KILOBYTE },
  { name: 'small pending', ofAddress: 64, ofAll: 64 * KILOBYTE },
]

/** Opens the limits on kilobytes, in the order in which they are used, for all instances together. */
export const openPendingRooms = (store: BucketStore): App['pending'] =>
  ROOMS.map(({ name, ofAddress, ofAll }) => ({
    address: new SharedBuckets(name, { rate: ofAddress / KEPT_SECONDS, burst: ofAddress }, store),
    all: new SharedBuckets(`all ${name}`, { rate: ofAll / KEPT_SECONDS, burst: ofAll }, store),
  }))

/** Takes room of an address for a value of `cost` kilobytes. Returns 0, or the seconds until a room has it. */
export async function takeRoom({ pending }: Pick<App, 'pending'>, remote: string, cost: number): Promise<number> {
  let shortest = 0
  for (const { address, all } of pending) {
    // The address first, so that one that has no room does not use up the room of others.
    const wait = (await address.take(subscriber(remote), cost)) || (await all.take('', cost))
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
  const wait = await takeRoom(app, remote, cost)
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
