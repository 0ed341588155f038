// A crypto thread: runs the jobs of a batch.
import { type CryptoBatch, type CryptoBatchResult, unpackJobs } from '../src/crypto/batch.ts'
import { createHeldKeys } from '../src/crypto/held_keys.ts'
import { createSigningWork } from '../src/crypto/signing_work.ts'
import { nameThread } from '../src/lib/threads/thread_name.ts'

nameThread('crypto')
const held = createHeldKeys()
const perform = createSigningWork()

/** Runs a batch. */
export function run(batch: CryptoBatch): CryptoBatchResult {
  const startedMs = performance.now()
  held.add(batch.keys ?? [], startedMs)
  const results = unpackJobs(batch, (name) => held.find(name, startedMs))?.map(perform)
  return { results, ms: performance.now() - startedMs }
}
