// What a crypto thread does: it signs and verifies. Keys are parsed once and stored by header segment or thumbprint.
import type { CryptoJob, CryptoResult, LocalKey, Signature } from './batch.ts'
import { signJws, verifySignature, withTokenHash } from './jws.ts'
import { createKeyCache } from './key_cache.ts'

const MAX_KEYS = 2000

/** Creates the function that runs a job. It finds the key of a signature with `keyOf`, by the header segment, and remembers parsed public keys. */
export function createSigningWork(keyOf: (header: string) => LocalKey | undefined): (job: CryptoJob) => CryptoResult {
  const publicKeys = createKeyCache(MAX_KEYS)

  function signed({ header, payload, idToken }: Signature): CryptoResult {
    const key = keyOf(header)
    if (!key) return { failed: 'the signing key is not known' }
    const compact = signJws(key.alg, key.key, header, payload)
    return idToken
      ? `${compact} ${signJws(key.alg, key.key, idToken.header, withTokenHash(idToken.payload, key.alg, compact))}`
      : compact
  }

  return (job) => {
    try {
      if ('payload' in job) return signed(job)
      const key = publicKeys.find(job.alg, job.jwk, job.thumbprint)
      return key !== undefined && verifySignature(job.alg, key, job.input, job.signature)
    } catch (error) {
      return { failed: (error as Error).message }
    }
  }
}
