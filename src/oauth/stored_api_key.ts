// Keys that operators create at run time: of the admin API, and of SCIM.
import type { App } from '../context.ts'
import type { RequestHead } from '../http/message.ts'
import { subscriber } from '../http/rate_limit.ts'
import { type BucketStore, SharedBuckets } from '../http/shared_buckets.ts'
import { type OAuthError, slowDown } from '../lib/error.ts'
import { digest, equalSecrets, parseBearer } from '../lib/id.ts'
import { Lru } from '../lib/lru.ts'
import { MB } from '../lib/memory.ts'
import type { ApiKey } from '../records/api_key.ts'
import type { Store } from '../store/index.ts'

/** How keys that were created at run time begin. */
export const API_KEY_PREFIX = 'sak'
/** The last use of a key is recorded at most once in this time. */
const USE_NOTED_SECONDS = 10
const MAX_NOTED = 10_000

/** Returns a function that finds the record of a key. It records the last use in the background: requests do not wait for it, and the storage reports its own failures. */
export function apiKeyFinder(
  store: Pick<Store, 'findApiKey' | 'touchApiKey'>,
  clock: App['clock'],
): (key: string) => Promise<ApiKey | undefined> {
  const noted = new Lru<number>({ max: MAX_NOTED, bytes: 2 * MB })
  return async (key) => {
    const bearer = parseBearer(API_KEY_PREFIX, key)
    const stored = bearer && (await store.findApiKey(bearer))
    if (!stored || !equalSecrets(stored.hash, digest(key))) return undefined
    const now = clock.now()
    if (now - (noted.get(stored.id) ?? 0) >= USE_NOTED_SECONDS) {
      noted.set(stored.id, now)
      store.touchApiKey({ id: stored.id, now }).catch(() => {})
    }
    return stored
  }
}

/** Wrong keys that an address may send: the burst, and the rate per second. */
const GUESSES = { rate: 1, burst: 20 }

/**
 * Returns a function that counts a wrong key by the address that sent it, and returns slow_down when it has sent too many. A right key is
 * always accepted: others may send wrong keys through the same proxy. Keys are too long to be guessed; the limit bounds what wrong keys cost.
 * `kind` separates the counts of listeners.
 */
export function wrongKeyCounter(
  kind: string,
  { rate_limit }: Pick<App['config'], 'rate_limit'>,
  store: BucketStore,
): (head: Pick<RequestHead, 'remote'>) => OAuthError | undefined {
  const guesses = new SharedBuckets(kind, GUESSES, store)
  return ({ remote }) => {
    if (!rate_limit.enabled) return undefined
    const address = subscriber(remote)
    const wait = guesses.wait(address)
    // The request does not wait for the count of all instances; the next key of this address does. Without the store, this instance counts.
    if (wait === 0) guesses.take(address).catch(() => {})
    return wait === 0 ? undefined : slowDown(wait, 'too many wrong keys from this address', 'too_many_wrong_keys')
  }
}
