// A crypto thread: signs and verifies a batch. Keys are parsed once and stored by header segment or thumbprint.
import {
  type CryptoBatch,
  type CryptoBatchResult,
  type CryptoJob,
  type CryptoResult,
  type LocalKey,
  type Signature,
  unpackJobs,
} from '../src/crypto/batch.ts'
import { signJws, verifySignature, withTokenHash } from '../src/crypto/jws.ts'
import { createKeyCache } from '../src/crypto/key_cache.ts'
import { Lru } from '../src/lib/lru.ts'
import { nameThread } from '../src/lib/thread_name.ts'

nameThread('crypto')
const MAX_KEYS = 2000
const signing = new Lru<LocalKey>(100)
const publicKeys = createKeyCache(MAX_KEYS)

function signed({ header, payload, idToken }: Signature): CryptoResult {
  const key = signing.get(header)
  if (!key) return { failed: 'the signing key is not known' }
  const compact = signJws(key.alg, key.key, header, payload)
  return idToken
    ? `${compact} ${signJws(key.alg, key.key, idToken.header, withTokenHash(idToken.payload, key.alg, compact))}`
    : compact
}

function perform(job: CryptoJob): CryptoResult {
  try {
    if ('payload' in job) return signed(job)
    const key = publicKeys.find(job.alg, job.jwk, job.thumbprint)
    return key !== undefined && verifySignature(job.alg, key, job.input, job.signature)
  } catch (error) {
    return { failed: (error as Error).message }
  }
}

export default function runBatch(batch: CryptoBatch): CryptoBatchResult {
  const startedMs = performance.now()
  for (const key of batch.keys ?? []) signing.set(key.header, key)
  const isReady = batch.keys !== undefined || batch.headers.every((header) => signing.get(header) !== undefined)
  const results = isReady ? unpackJobs(batch).map(perform) : undefined
  return { results, ms: performance.now() - startedMs }
}
