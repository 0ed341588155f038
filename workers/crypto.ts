// A crypto thread: signs and verifies a batch. Keys are prepared once and kept by kid or thumbprint.
import type { KeyObject } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { importKey, type Jwk, signJws, type UpstreamAlg, verifySignature } from '../src/crypto/jws.ts'
import type { CryptoBatch, CryptoBatchResult, CryptoJob, CryptoResult } from '../src/crypto/pool.ts'
import { nameThread } from '../src/lib/thread_name.ts'

nameThread('crypto')
const MAX_KEYS = 20_000
const signing = new LRUCache<string, CryptoBatch['keys'][number]>({ max: 100 })
const imported = new LRUCache<string, KeyObject | 'unusable'>({ max: MAX_KEYS })

function publicKey(alg: UpstreamAlg, jwk: Jwk, thumbprint: string): KeyObject | undefined {
  const id = `${alg} ${thumbprint}`
  const known = imported.get(id)
  if (known) return known === 'unusable' ? undefined : known
  const key = importKey(alg, jwk)
  imported.set(id, key ?? 'unusable')
  return key
}

function perform(job: CryptoJob): CryptoResult {
  try {
    if ('payload' in job) {
      const key = signing.get(job.kid)
      return key
        ? signJws(key.alg, key.key, key.header, job.payload)
        : { failed: `the signing key ${job.kid} is not known` }
    }
    const key = publicKey(job.alg, job.jwk, job.thumbprint)
    return key !== undefined && verifySignature(job.alg, key, job.input, job.signature)
  } catch (error) {
    return { failed: (error as Error).message }
  }
}

export default function runBatch({ keys, jobs }: CryptoBatch): CryptoBatchResult {
  const startedMs = performance.now()
  for (const key of keys) if (!signing.has(key.kid)) signing.set(key.kid, key)
  const results = (JSON.parse(jobs) as CryptoJob[]).map(perform)
  return { results, ms: performance.now() - startedMs }
}
