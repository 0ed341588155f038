// The parsed public keys of one crypto thread. Parsing a key takes nearly as long as a verification, so that keys in use are kept.
import type { KeyObject } from 'node:crypto'
import { Lru } from '../lib/lru.ts'
import type { Jwk, VerifiedAlg } from '../records/jwk.ts'
import { importKey } from './jws.ts'

/** The bytes of a parsed key, most of which are outside of the heap, and room for its name and its entry in the cache. */
const [KEY_BYTES, NAME_BYTES] = [4096, 512]

/**
 * Keeps at most `max` keys, and only keys that are used again. A parsed key has memory outside of the heap that the garbage collector does
 * not count, so that keys which are evicted after a long time are freed late. 2,000 keys are evicted while they are young: the
 * keys of 100,000 clients, each used twice, took 84 MB at most, and 340 MB with 20,000 keys.
 */
export function createKeyCache(max: number) {
  const kept = new Lru<KeyObject | 'unusable'>({ max, bytes: max * (KEY_BYTES + NAME_BYTES), sizeOf: () => KEY_BYTES })
  const seen = new Lru<true>({ max, bytes: max * NAME_BYTES })
  return {
    /** The parsed key of a JWK, whose RFC 7638 thumbprint is its name. Undefined when the key is not valid for the algorithm. */
    find(alg: VerifiedAlg, jwk: Jwk, thumbprint: string): KeyObject | undefined {
      const name = `${alg} ${thumbprint}`
      const known = kept.get(name)
      if (known) return known === 'unusable' ? undefined : known
      const key = importKey(alg, jwk)
      if (seen.get(name)) kept.set(name, key ?? 'unusable')
      else seen.set(name, true)
      return key
    },
  }
}
