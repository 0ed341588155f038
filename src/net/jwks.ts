// A cache of remote JWK sets (RFC 7517), such as those of identity providers. It has no cryptography; callers import the keys and compute
// their thumbprints.

import { Lru } from '../lib/lru.ts'
import { MB } from '../lib/memory.ts'
import type { Clock } from '../lib/time.ts'
import { ED25519, type Jwk, KEY_KINDS, PRIVATE_MEMBERS, type VerifiedAlg } from '../records/jwk.ts'
import { FetchError } from './error.ts'
import type { Fetcher } from './fetcher.ts'
import { fetchJson } from './json.ts'
import { RemoteCache, type RemoteFailure } from './remote_cache.ts'
import { AT_ONCE, type PlaceTurn } from './semaphore.ts'

export interface RemoteKeysOptions {
  fetcher: Fetcher
  clock: Clock
  /** Seconds after which a set is fetched again. While that fails, the old set is used for the same time once more. */
  ttl: number
  /** Minimum seconds from a fetch to the next one because of unknown keys. After a failed fetch it is shorter. */
  cooldown: number
  /** Whether key sets may be fetched over plain http. */
  allowHttp: boolean
  /** Maximum number of cached sets, and of their bytes. */
  maxSets?: number
  maxBytes?: number
  /** Maximum number of keys of one set. */
  maxKeys?: number
  /** Called for every lookup: a hit if the cached set had the key. */
  onLookup?: (outcome: 'hit' | 'miss') => void
}

/** The key that a signature needs. */
export interface WantedKey {
  kid?: string
  alg: VerifiedAlg
  /** The `use` that the key must have. Default: sig, or none. The keys of a SPIFFE bundle have jwt-svid. */
  use?: 'sig' | 'jwt-svid'
}

/** What is known about a key set: its number of keys, and the failure of the last fetch. */
export interface KeySetState {
  keys: number
  failure: RemoteFailure | undefined
}

export type RemoteKeys = ReturnType<typeof createRemoteKeys>

/** Seconds after a failed fetch. */
const FAILED_COOLDOWN = 10

interface KeySet {
  keys: readonly Jwk[]
}

/** Makes the cache of remote key sets. */
export function createRemoteKeys({
  fetcher,
  clock,
  ttl,
  cooldown,
  allowHttp,
  maxSets = 200,
  maxBytes = 8 * MB,
  maxKeys = 100,
  onLookup,
}: RemoteKeysOptions) {
  const fetchValue = async (uri: string): Promise<KeySet> => ({
    keys: await fetchKeys(fetcher, uri, { allowHttp, maxKeys }),
  })
  const sets = new RemoteCache<KeySet>({ fetchValue, clock, ttl, max: maxSets, bytes: maxBytes })
  /** By set: the time before which unknown keys cause no fetch. */
  const quietUntil = new Lru<number>({ max: maxSets, bytes: MB })

  const quiet = (uri: string, seconds: number) => quietUntil.set(uri, clock.now() + seconds)

  async function fetched(wanted: WantedKey, load: Promise<KeySet>) {
    onLookup?.('miss')
    return fitting((await load).keys, wanted)
  }

  return {
    /**
     * The keys at a jwks_uri that may verify a signature by `alg`: the keys with this `kid`, or all if the token has none. Empty when there
     * is no such key. The same objects are returned as long as the set is cached. A caller waits for its `turn` before it starts a fetch.
     * Rejects when the set is unavailable: FetchError, or 503.
     */
    async find(uri: string, wanted: WantedKey, turn: PlaceTurn = AT_ONCE): Promise<readonly Jwk[]> {
      const set = sets.fresh(uri)
      if (!set) return fetched(wanted, sets.get(uri, turn))
      const found = fitting(set.keys, wanted)
      const isQuiet = () => clock.now() < (quietUntil.get(uri) ?? 0)
      if (found.length === 0 && (sets.isLoading(uri) || !isQuiet())) {
        // Another caller may have fetched the set while this one waited.
        const load = sets.isLoading(uri)
          ? sets.refresh(uri)
          : turn(() => (isQuiet() ? sets.get(uri) : sets.refresh(uri)))
        // Not before: a fetch that was refused here, for which an anonymous caller took the place, must not delay the next one.
        load.then(
          () => quiet(uri, cooldown),
          (error: unknown) => error instanceof FetchError && quiet(uri, FAILED_COOLDOWN),
        )
        return fetched(wanted, load)
      }
      onLookup?.('hit')
      return found
    },
    /** Fetches the set now and replaces the cached one. Returns its number of keys. Rejects as find() does; then the cached set stays in use. */
    async refresh(uri: string): Promise<number> {
      // Replaced on success only: a refresh by an operator while the peer is down must not remove a usable set.
      quietUntil.delete(uri)
      onLookup?.('miss')
      return (await sets.refresh(uri)).keys.length
    },
    /** Fetches the set unless the cached one is fresh, and returns its state. */
    async look(uri: string): Promise<KeySetState> {
      const set = await sets.get(uri).catch(() => undefined)
      return { keys: set?.keys.length ?? 0, failure: sets.failureOf(uri) }
    },
    /** Removes the set from the cache. */
    drop(uri: string): void {
      sets.drop(uri)
      quietUntil.delete(uri)
    },
  }
}

const MAX_BYTES = 512 * 1024

async function fetchKeys(
  fetcher: Fetcher,
  uri: string,
  { allowHttp, maxKeys }: Required<Pick<RemoteKeysOptions, 'allowHttp' | 'maxKeys'>>,
): Promise<readonly Jwk[]> {
  const { keys } = await fetchJson(fetcher, uri, {
    accept: 'application/jwk-set+json, application/json',
    // The current set is needed, not the copy of an HTTP cache.
    headers: { 'cache-control': 'no-cache' },
    maxBytes: MAX_BYTES,
    allowHttp,
  })
  const fault = (detail: string) => new FetchError('bad_document', new URL(uri).host, detail)
  if (!Array.isArray(keys)) throw fault('no JWK set')
  if (keys.length > maxKeys) throw fault(`more than ${maxKeys} keys`)
  return keys.flatMap(publicSigningKey)
}

const PUBLIC_MEMBERS: Record<string, readonly string[]> = { EC: ['crv', 'x', 'y'], RSA: ['n', 'e'], OKP: ['crv', 'x'] }
/** Longer than any member of a usable key, and than any realistic kid. */
const MAX_MEMBER = 1366
const isShort = (value: unknown) => typeof value === 'string' && value.length <= MAX_MEMBER

/** The relevant members of a key that may verify signatures. Other keys in the set are ignored (RFC 7517 §5). */
function publicSigningKey(value: unknown): Jwk[] {
  if (typeof value !== 'object' || value === null) return []
  const jwk = value as Record<string, unknown>
  const { kty, kid, use, key_ops, alg } = jwk
  const members = typeof kty === 'string' && Object.hasOwn(PUBLIC_MEMBERS, kty) ? PUBLIC_MEMBERS[kty] : undefined
  if (typeof kty !== 'string' || !members?.every((name) => isShort(jwk[name]))) return []
  // A private key that was published is compromised.
  if (PRIVATE_MEMBERS.some((name) => name in jwk)) return []
  if (use !== undefined && use !== 'sig' && use !== 'jwt-svid') return []
  if (key_ops !== undefined && !(Array.isArray(key_ops) && key_ops.includes('verify'))) return []
  if (![kid, alg].every((each) => each === undefined || isShort(each))) return []
  return [
    {
      ...Object.fromEntries(members.map((name) => [name, jwk[name]])),
      kty,
      kid,
      alg,
      ...(use === 'jwt-svid' ? { use } : {}),
    },
  ]
}

/** The keys of a set that may have made a signature. Several keys may have the same kid (RFC 7517 §4.5): the caller tries each of them. */
export const fitting = (keys: readonly Jwk[], { kid, alg, use = 'sig' }: WantedKey): readonly Jwk[] =>
  keys.filter(
    (jwk) =>
      jwk.kty === KEY_KINDS[alg].kty &&
      jwk.crv === KEY_KINDS[alg].crv &&
      (jwk['use'] ?? 'sig') === use &&
      (jwk.alg === undefined || jwk.alg === alg || (alg === 'EdDSA' && jwk.alg === ED25519)) &&
      (kid === undefined || jwk.kid === kid),
  )
