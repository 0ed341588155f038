// A password thread: argon2id with the parameters OWASP names (19 MiB, two passes, one lane). Imported users may have a bcrypt hash.
import { hashSync, verifySync } from '@node-rs/argon2'
import { compareSync } from 'bcryptjs'
import { argon2Parameters, isBcrypt } from '../src/crypto/password_hash.ts'
import type { PasswordJob, PasswordResult } from '../src/crypto/pool.ts'
import { answerCalls } from '../src/lib/thread.ts'
import { nameThread } from '../src/lib/thread_name.ts'

nameThread('password')
const ARGON2ID = 2
const PARAMETERS = { algorithm: ARGON2ID, memoryCost: 19_456, timeCost: 2, parallelism: 1, outputLen: 32 }

const isCurrent = (hash: string): boolean => {
  const { m, t, p } = argon2Parameters(hash) ?? { m: 0, t: 0, p: 0 }
  return m >= PARAMETERS.memoryCost && t >= PARAMETERS.timeCost && p >= PARAMETERS.parallelism
}

function perform(job: PasswordJob): PasswordResult {
  if (!('hash' in job)) return hashSync(job.password, PARAMETERS)
  let right = false
  try {
    right = isBcrypt(job.hash) ? compareSync(job.password, job.hash) : verifySync(job.hash, job.password)
  } catch {}
  return right && !isCurrent(job.hash) ? { right, rehashed: hashSync(job.password, PARAMETERS) } : { right }
}

answerCalls((jobs: readonly PasswordJob[]): PasswordResult[] => jobs.map(perform))
