// A crypto thread: runs the jobs of a batch. It keeps the signing keys that it received.
import { type CryptoBatch, type CryptoBatchResult, type LocalKey, unpackJobs } from '../src/crypto/batch.ts'
import { createSigningWork } from '../src/crypto/signing_work.ts'
import { Lru } from '../src/lib/lru.ts'
import { answerCalls } from '../src/lib/thread.ts'
import { nameThread } from '../src/lib/thread_name.ts'

nameThread('crypto')
const signing = new Lru<LocalKey>(100)
const perform = createSigningWork((header) => signing.get(header))

function runBatch(batch: CryptoBatch): CryptoBatchResult {
  const startedMs = performance.now()
  for (const key of batch.keys ?? []) signing.set(key.header, key)
  const isReady = batch.keys !== undefined || batch.headers.every((header) => signing.get(header) !== undefined)
  const results = isReady ? unpackJobs(batch).map(perform) : undefined
  return { results, ms: performance.now() - startedMs }
}

answerCalls(runBatch)
