// Signatures by keys of other issuers. Several keys may have the same kid (RFC 7517 §4.5), so each of them is tried.
import type { Jwk, VerifiedAlg } from '../records/jwk.ts'
import { type Jws, thumbprint } from './jws.ts'
import type { CryptoLanes } from './pool.ts'

/** Maximum number of keys that are tried for one token. */
const MAX_TRIES = 16

/** The thumbprint of each key. The same key verifies many tokens, and caches return the same object for it. */
const thumbprints = new WeakMap<Jwk, string>()

function thumbprintOf(jwk: Jwk): string | undefined {
  const known = thumbprints.get(jwk)
  if (known !== undefined) return known
  const computed = thumbprint(jwk)
  if (computed !== undefined) thumbprints.set(jwk, computed)
  return computed
}

/** Whether one of these keys made the signature. */
export async function isSignedByOneOf(
  crypto: CryptoLanes,
  keys: readonly Jwk[],
  alg: VerifiedAlg,
  { input, signature }: Jws,
): Promise<boolean> {
  for (const jwk of keys.slice(0, MAX_TRIES)) {
    const id = thumbprintOf(jwk)
    if (id && (await crypto.verify({ alg, jwk, thumbprint: id, input, signature }))) return true
  }
  return false
}
