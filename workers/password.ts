// A password thread: argon2id with the parameters OWASP names (19 MiB, two passes, one lane).
import { hashSync, verifySync } from '@node-rs/argon2'
import type { PasswordJob, PasswordResult } from '../src/crypto/pool.ts'
import { nameThread } from '../src/lib/thread_name.ts'

nameThread('password')
const ARGON2ID = 2
const PARAMETERS = { algorithm: ARGON2ID, memoryCost: 19_456, timeCost: 2, parallelism: 1, outputLen: 32 }

const isCurrent = (phc: string): boolean => {
  const [, m, t, p] = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$/.exec(phc) ?? []
  return Number(m) >= PARAMETERS.memoryCost && Number(t) >= PARAMETERS.timeCost && Number(p) >= PARAMETERS.parallelism
}

function perform(job: PasswordJob): PasswordResult {
  if (!('hash' in job)) return hashSync(job.password, PARAMETERS)
  let right = false
  try {
    right = verifySync(job.hash, job.password)
  } catch {}
  return right && !isCurrent(job.hash) ? { right, rehashed: hashSync(job.password, PARAMETERS) } : { right }
}

export default function runBatch(jobs: readonly PasswordJob[]): PasswordResult[] {
  return jobs.map(perform)
}
