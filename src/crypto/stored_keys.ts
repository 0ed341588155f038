// Creation, rotation and revocation of private keys that this service stores itself, for every key store.
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { OAuthError } from '../lib/error.ts'
import { newId } from '../lib/id.ts'
import type { Clock } from '../lib/time.ts'
import type { Alg, Jwk, KeyTimes } from '../records/jwk.ts'
import type { Logger } from '../telemetry/logger.ts'
import { always, currentOf, type KeySource, type MayMakeFirst, type SourceKey } from './key_source.ts'

export interface StoredKey extends KeyTimes {
  /** PKCS#8 PEM. */
  pem: string
}
/** A store of private keys. */
export interface KeyStore {
  readonly name: string
  /** Set if several processes share the keys: the time after which each of them has seen a change. */
  readonly seenAfterMs?: number
  load(): Promise<StoredKey[]>
  /** Reads, changes and writes the keys under a lock against other processes. If `decide` returns its argument, nothing is written. Returns the resulting keys. */
  change(decide: (keys: StoredKey[]) => StoredKey[]): Promise<StoredKey[]>
}

export interface StoredKeysOptions {
  store: KeyStore
  /** Algorithm of new keys. */
  alg: Alg
  /** Maximum lifetime of a token in seconds. */
  longestLife: number
  clock: Clock
  log: Pick<Logger, 'warn'>
  mayMakeFirst?: MayMakeFirst
}

/** Maximum difference between clocks in seconds: a key stays published that much longer than its last token lives. */
export const SKEW_SECONDS = 60

/**
 * The keys of a store. Besides the current key there is always a next key, which is published before it signs: verifiers that cache
 * the JWKS know it when a rotation promotes it.
 */
export function storedKeys(options: StoredKeysOptions): KeySource {
  const { store, alg, longestLife, clock, log, mayMakeFirst = always } = options
  const { name, seenAfterMs = 0 } = store
  const { noted, seenByAll } = sightings(seenAfterMs)
  const change: KeyStore['change'] = async (decide) => noted(await store.change(decide))
  const make = () => generateKey(alg, clock.now())
  const withNext = (keys: StoredKey[]): StoredKey[] => [...keys, { ...make(), next: true }]

  /** The kid of the next key, after every process has seen it. */
  const awaitNext = async (): Promise<string> => {
    const keys = await change((found) =>
      found.some((key) => key.next && key.alg === alg) ? found : withNext(found.filter((key) => !key.next)),
    )
    const { kid } = keys.at(-1) as StoredKey
    await seenByAll(kid)
    return kid
  }
  return {
    name,
    async load() {
      const found = noted(await store.load())
      if (found.length === 0 && !(await mayMakeFirst())) return []
      if (found.some((key) => key.next)) return found.map(opened)
      const making = change((there) => {
        const keys = there.length > 0 ? there : [make()]
        return keys.some((key) => key.next) ? keys : withNext(keys)
      })
      return (await (found.length === 0 ? making : orReadOnly(making, found, log))).map(opened)
    },
    async rotate() {
      const kid = await awaitNext()
      const keys = await change((found) => {
        // Another process has already rotated to this key, and may have rotated again.
        if (found.some((key) => key.kid === kid && !key.next)) return found
        return withNext([...retired(found, clock.now(), longestLife), nextOf(found, kid)])
      })
      return keys.map(opened)
    },
    async revoke(kid) {
      if (seenAfterMs > 0 && currentOf(await store.load()).kid === kid) await awaitNext()
      let known = false
      const keys = await change((found) => {
        known = found.some((key) => key.kid === kid)
        return known ? without(found, kid, make) : found
      })
      return known ? keys.map(opened) : undefined
    },
  }
}

/** Notes when this process first saw each key: after `seenAfterMs` more, every other process has seen it too. */
function sightings(seenAfterMs: number) {
  const firstMs = new Map<string, number>()
  return {
    noted(keys: StoredKey[]): StoredKey[] {
      for (const { kid } of keys) if (!firstMs.has(kid)) firstMs.set(kid, performance.now())
      return keys
    },
    async seenByAll(kid: string): Promise<void> {
      const leftMs = seenAfterMs - (performance.now() - (firstMs.get(kid) as number))
      if (leftMs > 0) await new Promise((resolve) => setTimeout(resolve, leftMs))
    },
  }
}

/** Keys that can be read but not written (a read-only mount, a full disk) can still sign. */
const orReadOnly = (
  making: Promise<StoredKey[]>,
  found: StoredKey[],
  log: StoredKeysOptions['log'],
): Promise<StoredKey[]> =>
  making.catch((error: unknown) => {
    log.warn(
      { err: error },
      'the next signing key could not be created: a rotation would use a key that verifiers have not loaded yet',
    )
    return found
  })

/** The keys without a revoked one. If it was the current key, the next key signs. There is always a next key. */
function without(found: StoredKey[], kid: string, make: () => StoredKey): StoredKey[] {
  const left = found.filter((key) => key.kid !== kid)
  const next = left.find((key) => key.next)
  const ahead = (): StoredKey => ({ ...make(), next: true })
  if (currentOf(found).kid !== kid) return next ? left : [...left, ahead()]
  return [...left.filter((key) => !key.next), next ? nextOf(left, next.kid) : make(), ahead()]
}

/** The keys after a rotation: the current key becomes a previous one, and expired ones are removed. */
const retired = (found: StoredKey[], now: number, longestLife: number): StoredKey[] =>
  found
    .filter((key) => !key.next)
    .map((key) =>
      key.retired_at === undefined ? { ...key, retired_at: now, remove_at: now + longestLife + SKEW_SECONDS } : key,
    )
    .filter((key) => (key.remove_at as number) > now)

/** The next key, in the form of a current key. */
function nextOf(keys: readonly StoredKey[], kid: string): StoredKey {
  const found = keys.find((key) => key.kid === kid)
  if (!found) throw new OAuthError('conflict', 'the keys were changed by another process at the same time')
  const { next: _, ...key } = found
  return key
}

function generateKey(alg: Alg, now: number): StoredKey {
  const { privateKey } =
    alg === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: 2048 })
  return { kid: newId(), alg, pem: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string, created_at: now }
}

function opened({ pem, ...times }: StoredKey): SourceKey {
  try {
    return { ...times, jwk: createPublicKey(pem).export({ format: 'jwk' }) as Jwk, key: createPrivateKey(pem) }
  } catch (error) {
    throw new Error(`the signing key ${times.kid} is not usable: ${(error as Error).message}`, { cause: error })
  }
}
