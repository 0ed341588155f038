// Password hashes, on threads of their own, so that logins never delay a token.
import { availableParallelism } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { isOverloaded, unavailable } from '../lib/error.ts'
import { SingleFlight } from '../lib/threads/single_flight.ts'
import { openWorkerPool, type ThreadLog } from '../lib/threads/worker_pool.ts'
import { VerificationTimes } from './equal_time.ts'
import { exampleOf } from './password_hash.ts'

export type PasswordJob = { password: string } | { password: string; hash: string }
/** The PHC string of a new password; or whether a password is correct, with a new hash if the parameters of the old one are outdated. */
export type PasswordResult = string | { right: boolean; rehashed?: string }

interface Verified {
  right: boolean
  rehashed?: string
}

export interface Passwords {
  /** The PHC string of a password. */
  hashPassword(password: string): Promise<string>
  /**
   * Whether a password matches a PHC string; `rehashed` if its parameters are outdated. Without a hash it does not match. The answer takes as long for
   * every kind of hash that was verified, and for the `kinds`.
   */
  verifyPassword(password: string, hash: string | undefined, kinds?: readonly string[]): Promise<Verified>
}

/** Longer passwords are refused before they are hashed. */
export const MAX_PASSWORD_BYTES = 1024
/** The hash of a random password. The passwords of unknown users are compared with it, so that they take the same time. */
const DECOY = '$argon2id$v=19$m=19456,t=2,p=1$NgLa0kj3cFL7InzivTeI4A$X4p+vk4ySTGFn76n0+YMtbENbg1QBtG48cxnsBb5TB4'
const DECOY_KIND = 'argon2id 19456 2'
/** Verifications that measure a kind of hash. */
const SAMPLES = 3
const MAX_WAITING = 64
const IDLE_MS = 60_000
const SLOW =
  'no build of @node-rs/argon2 loads here: passwords are hashed in JavaScript, which takes ten times as long; install it with its optional dependencies'

/** Prepares the password threads. They start with the first login, because most processes never need them. */
export function openPasswords(log: ThreadLog & { warn(fields: object, message: string): void }) {
  const max = Math.max(1, Math.floor(availableParallelism() / 4))
  const pool = openWorkerPool<PasswordJob, { result: PasswordResult; ms: number; fault: string | undefined }>(
    { name: 'password', max, idleMs: IDLE_MS, maxQueue: MAX_WAITING, msOf: ({ ms }) => ms },
    log,
  )
  let isToldOf = false

  async function run(job: PasswordJob): Promise<{ result: PasswordResult; ms: number }> {
    const { result, ms, fault } = await pool.run(job).catch((error: unknown) => {
      throw isOverloaded(error) ? error : workerFailed(error)
    })
    if (fault !== undefined && !isToldOf) log.warn({ fault }, SLOW)
    isToldOf = true
    return { result, ms }
  }
  return {
    hashPassword: async (text: string) => (await run({ password: normal(text) })).result as string,
    verifyPassword: equalTimed(async (password, hash) => {
      const { result, ms } = await run({ password, hash })
      return { ...(result as Verified), ms }
    }),
    stats: pool.stats,
    close: pool.close,
  }
}

/** Verifications that are answered at the same time for all kinds of hashes. */
function equalTimed(verify: (password: string, hash: string) => Promise<Verified & { ms: number }>) {
  const times = new VerificationTimes()
  const measures = new SingleFlight<void>()
  async function measure(kind: string): Promise<void> {
    const samples: number[] = []
    while (samples.length < SAMPLES) samples.push((await verify('', exampleOf(kind))).ms)
    times.set(kind, samples)
  }

  return async (text: string, hash = DECOY, stored: readonly string[] = []): Promise<Verified> => {
    const kinds = [DECOY_KIND, ...stored]
    const unknown = kinds.filter((kind) => !times.has(kind))
    await Promise.all(unknown.map((kind) => measures.run(kind, () => measure(kind))))
    const startedMs = performance.now()
    const { ms: _ms, ...verified } = await verify(normal(text), hash)
    const spentMs = performance.now() - startedMs
    await setTimeout(times.answerAt(spentMs, kinds) - spentMs)
    return verified
  }
}

/** The 503 for the jobs of a thread that failed. */
export const workerFailed = (cause: unknown) =>
  unavailable('a worker thread failed', { reason: 'worker_failed', cause })

const normal = (text: string) => text.normalize('NFC')
