// A password thread: argon2id. Imported users may have a bcrypt hash.
import { compareSync } from 'bcryptjs'
import { openArgon2id, PARAMETERS } from '../src/crypto/argon2id.ts'
import { argon2Parameters, isBcrypt } from '../src/crypto/password_hash.ts'
import type { PasswordJob, PasswordResult } from '../src/crypto/passwords.ts'
import { nameThread } from '../src/lib/threads/thread_name.ts'

nameThread('password')
const argon2id = openArgon2id()

const isCurrent = (hash: string): boolean => {
  const { m, t, p } = argon2Parameters(hash) ?? { m: 0, t: 0, p: 0 }
  return m >= PARAMETERS.m && t >= PARAMETERS.t && p >= PARAMETERS.p
}

function perform(job: PasswordJob): PasswordResult {
  if (!('hash' in job)) return argon2id.hash(job.password)
  let right = false
  try {
    right = isBcrypt(job.hash) ? compareSync(job.password, job.hash) : argon2id.verify(job.hash, job.password)
  } catch {}
  return right && !isCurrent(job.hash) ? { right, rehashed: argon2id.hash(job.password) } : { right }
}

/** Runs a job. `ms` is the time that it took, `fault` why it was not the native library. */
export function run(job: PasswordJob): { result: PasswordResult; ms: number; fault: string | undefined } {
  const startedMs = performance.now()
  return { result: perform(job), ms: performance.now() - startedMs, fault: argon2id.fault }
}
