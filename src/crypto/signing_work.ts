// What a crypto thread does: it signs and verifies. Public keys are parsed once and stored by thumbprint.
import type { CryptoJob, CryptoResult, Signature } from './batch.ts'
import { signJws, verifySignature, withTokenHash } from './jws.ts'
import { createKeyCache } from './key_cache.ts'

const MAX_KEYS = 2000

/** Creates the function that runs a job. It remembers parsed public keys. */
export function createSigningWork(): (job: CryptoJob) => CryptoResult {
  const publicKeys = createKeyCache(MAX_KEYS)

  function signed({ key: { alg, key }, header, payload, idToken }: Signature): CryptoResult {
    const compact = signJws(alg, key, header, payload)
    if (!idToken) return compact
    const { key: other, header: idHeader, payload: claims } = idToken
    return `${compact} ${signJws(other.alg, other.key, idHeader, withTokenHash(claims, other.alg, compact))}`
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
