// Signatures by keys of other issuers. Several keys may have the same kid (RFC 7517 §4.5), so each of them is tried.
import type { Jwk, VerifiedAlg } from '../records/jwk.ts'
import { type Jws, thumbprint } from './jws.ts'
import type { CryptoLanes } from './pool.ts'

/** Maximum work for one token, in verifications with an RSA key of 2048 bits: 16 of them, eight EC keys of P-256, or one RSA key of 8192 bits. */
const MAX_WORK = 16

/** The work of a verification. With RSA it grows with the square of the length of the modulus. */
function workOf({ kty, crv, n }: Jwk): number {
  if (kty === 'RSA') return Math.max(1, (String(n).length / BASE64_OF_2048_BITS) ** 2)
  return crv === 'P-256' || kty === 'OKP' ? 2 : 4
}
const BASE64_OF_2048_BITS = 342

/** The first keys whose work together is allowed. At least one, because every key that may be registered may be used. */
export function affordable(keys: readonly Jwk[]): readonly Jwk[] {
  let work = 0
  const end = keys.findIndex((jwk) => {
    work += workOf(jwk)
    return work > MAX_WORK
  })
  return end < 0 ? keys : keys.slice(0, Math.max(1, end))
}

/** The thumbprint of each key. The same key verifies many tokens, and caches return the same object for it. */
const thumbprints = new WeakMap<Jwk, string>()

function thumbprintOf(jwk: Jwk): string | undefined {
  const known = thumbprints.get(jwk)
  if (known !== undefined) return known
  const computed = thumbprint(jwk)
  if (computed !== undefined) thumbprints.set(jwk, computed)
  return computed
}

/** Whether one of these keys made the signature. Any caller can send a token with a wrong signature, so that only some keys are tried: a token with a `kid` names its key. */
export async function isSignedByOneOf(
  crypto: CryptoLanes,
  keys: readonly Jwk[],
  alg: VerifiedAlg,
  { input, signature }: Jws,
): Promise<boolean> {
  for (const jwk of affordable(keys)) {
    const id = thumbprintOf(jwk)
    if (id && (await crypto.verify({ alg, jwk, thumbprint: id, input, signature }))) return true
  }
  return false
}
