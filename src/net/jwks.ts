// The public keys of others (RFC 7517), kept for a while: JWK sets of identity providers. Knows no cryptography; who verifies
// with a key imports it and computes its thumbprint.

import { Lru } from '../lib/lru.ts'
import { SingleFlight } from '../lib/single_flight.ts'
import type { Clock } from '../lib/time.ts'
import type { Jwk, UpstreamAlg } from '../records/jwk.ts'
import { FetchError } from './error.ts'
import type { Fetcher } from './fetcher.ts'
import { jsonObjectOf } from './json.ts'

export interface RemoteKeysOptions {
  fetcher: Fetcher
  clock: Clock
  /** Seconds that a set is used for; after that it is fetched again, and while that fails used for as long once more. */
  ttl: number
  /** Seconds between two fetches of one set that unknown keys may cause, and after a failed one. */
  cooldown: number
  /** Key sets over plain http as well. */
  allowHttp: boolean
  /** Told of every look-up: whether the set at hand had the answer. */
  onLookup?: (outcome: 'hit' | 'miss') => void
}

export interface RemoteKeys {
  /**
   * The keys at jwks_uri that may verify a signature by `alg`: those named `kid`, or all when the token names none. Empty when
   * there is no such key. The same objects come back while the set is kept. Rejects when the set cannot be had: FetchError, or 503.
   */
  find(jwks_uri: string, wanted: { kid?: string; alg: UpstreamAlg }): Promise<readonly Jwk[]>
  /** Fetches the set now and replaces the one before. Returns how many keys it has; rejects as find() does, with the one before in use. */
  refresh(jwks_uri: string): Promise<number>
  /** Forgets the set. */
  drop(jwks_uri: string): void
}

interface KeySet {
  keys?: readonly Jwk[]
  freshUntil: number
  /** Why the last fetch failed, and until when nobody tries again. */
  failure?: { error: FetchError; until: number }
  /** Unknown keys cause no fetch before this time. */
  quietUntil: number
}

const MAX_SETS = 200
const FAILURE_SECONDS = 10

/** Makes the cache of remote key sets. */
export function createRemoteKeys({
  fetcher,
  clock,
  ttl,
  cooldown,
  allowHttp,
  onLookup,
}: RemoteKeysOptions): RemoteKeys {
  const sets = new Lru<KeySet>(MAX_SETS)
  const loads = new SingleFlight<readonly Jwk[], KeySet>()

  function setOf(uri: string): KeySet {
    const set = sets.get(uri) ?? { freshUntil: 0, quietUntil: 0 }
    sets.set(uri, set)
    return set
  }

  async function load(uri: string, set: KeySet): Promise<readonly Jwk[]> {
    try {
      set.keys = await fetchKeys(fetcher, uri, allowHttp)
      set.freshUntil = clock.now() + ttl
      return set.keys
    } catch (error) {
      // A 503 of our own is no fault of the peer, and the next moment may have room.
      if (error instanceof FetchError) set.failure = { error, until: clock.now() + FAILURE_SECONDS }
      throw error
    }
  }

  /** Callers that need the same set at the same time share one fetch. */
  function loadOnce(uri: string, set: KeySet): Promise<readonly Jwk[]> {
    onLookup?.('miss')
    return loads.run(set, () => load(uri, set))
  }

  /** The set anew; where that fails, the one before for as long again: an outage there must not be one here at once. */
  async function renewed(uri: string, set: KeySet): Promise<readonly Jwk[]> {
    const isUsable = set.keys !== undefined && clock.now() < set.freshUntil + ttl
    try {
      if (set.failure && clock.now() < set.failure.until) throw set.failure.error
      return await loadOnce(uri, set)
    } catch (error) {
      if (set.keys && isUsable) return set.keys
      throw error
    }
  }

  return {
    async find(uri, wanted) {
      const set = setOf(uri)
      if (!set.keys || clock.now() >= set.freshUntil) return fitting(await renewed(uri, set), wanted)
      const found = fitting(set.keys, wanted)
      if (found.length === 0 && (loads.get(set) || clock.now() >= set.quietUntil)) {
        set.quietUntil = clock.now() + cooldown
        return fitting(await loadOnce(uri, set), wanted)
      }
      onLookup?.('hit')
      return found
    },
    async refresh(uri) {
      // Replaced on success only: an operator who asks while the peer is down must not make it worse.
      const set = setOf(uri)
      set.quietUntil = 0
      return (await loadOnce(uri, set)).length
    },
    drop(uri) {
      sets.delete(uri)
    },
  }
}

const MAX_KEYS = 100
const MAX_BYTES = 512 * 1024
const TIMEOUT_MS = 10_000

async function fetchKeys(fetcher: Fetcher, uri: string, allowHttp: boolean): Promise<readonly Jwk[]> {
  const reply = await fetcher.fetch(uri, {
    accept: 'application/jwk-set+json, application/json',
    // Whoever asks here wants what is true now, not the copy of a cache on the way.
    headers: { 'cache-control': 'no-cache' },
    maxBytes: MAX_BYTES,
    timeoutMs: TIMEOUT_MS,
    allowHttp,
  })
  const fault = (detail: string) => new FetchError('bad_response', new URL(uri).host, detail)
  if (reply.status !== 200) throw fault(`status ${reply.status}`)
  const keys = jsonObjectOf(reply)?.keys
  if (!Array.isArray(keys)) throw fault('no JWK set')
  if (keys.length > MAX_KEYS) throw fault(`more than ${MAX_KEYS} keys`)
  return keys.flatMap(publicSigningKey)
}

const PUBLIC_MEMBERS: Record<string, readonly string[]> = { EC: ['crv', 'x', 'y'], RSA: ['n', 'e'] }
/** Longer than any member of a key that can be used, and than any honest name of one. */
const MAX_MEMBER = 1366
const isShort = (value: unknown) => typeof value === 'string' && value.length <= MAX_MEMBER

const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth']

/** The members that matter of a key that may verify signatures; others are no fault of the set (RFC 7517 §5). */
function publicSigningKey(value: unknown): Jwk[] {
  if (typeof value !== 'object' || value === null) return []
  const jwk = value as Record<string, unknown>
  const { kty, kid, use, key_ops, alg } = jwk
  const members = typeof kty === 'string' && Object.hasOwn(PUBLIC_MEMBERS, kty) ? PUBLIC_MEMBERS[kty] : undefined
  if (typeof kty !== 'string' || !members?.every((name) => isShort(jwk[name]))) return []
  // A private key that was published is everybody's.
  if (PRIVATE_MEMBERS.some((name) => name in jwk)) return []
  if (use !== undefined && use !== 'sig') return []
  if (key_ops !== undefined && !(Array.isArray(key_ops) && key_ops.includes('verify'))) return []
  if (![kid, alg].every((each) => each === undefined || isShort(each))) return []
  return [{ ...Object.fromEntries(members.map((name) => [name, jwk[name]])), kty, kid, alg }]
}

const CURVES: Partial<Record<UpstreamAlg, string>> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }

/** Two keys may share a kid (RFC 7517 §4.5): the signature tells which one it was. */
const fitting = (keys: readonly Jwk[], { kid, alg }: { kid?: string; alg: UpstreamAlg }): readonly Jwk[] =>
  keys.filter(
    (jwk) =>
      jwk.kty === (alg.startsWith('ES') ? 'EC' : 'RSA') &&
      jwk.crv === CURVES[alg] &&
      (jwk.alg === undefined || jwk.alg === alg) &&
      (kid === undefined || jwk.kid === kid),
  )
