// Signatures by keys of other issuers. Several keys may have the same kid (RFC 7517 §4.5), so each of them is tried.
import type { Jwk, UpstreamAlg } from '../records/jwk.ts'
import { type Jws, thumbprint } from './jws.ts'
import type { CryptoLanes } from './pool.ts'

/** Maximum number of keys that are tried for one token. */
const MAX_TRIES = 16

/** Whether one of these keys made the signature. */
export async function isSignedByOneOf(
  crypto: CryptoLanes,
  keys: readonly Jwk[],
  alg: UpstreamAlg,
  { input, signature }: Jws,
): Promise<boolean> {
  for (const jwk of keys.slice(0, MAX_TRIES)) {
    const id = thumbprint(jwk)
    if (id && (await crypto.verify({ alg, jwk, thumbprint: id, input, signature }))) return true
  }
  return false
}
