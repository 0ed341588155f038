// The two crypto lanes: signatures, and passwords. Passwords have separate threads, so that logins never delay a token.
import type { KeyObject } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { type OAuthError, unavailable } from '../lib/error.ts'
import { type BatchListener, Lane, type LaneStats, type Outcome } from '../lib/lane.ts'
import { openThreads, type Threads } from '../lib/threads.ts'
import type { Logger } from '../telemetry/logger.ts'
import {
  type CryptoBatchResult,
  type CryptoJob,
  type CryptoResult,
  type LocalKey,
  packJobs,
  type Signature,
  type Verification,
} from './batch.ts'
import { signingInput, withTokenHash } from './jws.ts'
import { createSigningWork } from './signing_work.ts'

/** Signs in a remote engine, which does not reveal the private key. */
export interface RemoteSigner {
  /** The signature (base64url; for ES256 the two numbers concatenated) of the input of a JWS. Rejects with 503 when the engine is unavailable. */
  sign(input: string): Promise<string>
}
/** A signing key, of this process or of a remote engine. */
export type SigningKey = Omit<LocalKey, 'key'> & { key: KeyObject | RemoteSigner }
/** A remote engine signs, which may fail: then the signature is made before the commit. */
export const isRemote = (key: SigningKey): key is SigningKey & { key: RemoteSigner } => 'sign' in key.key

export type PasswordJob = { password: string } | { password: string; hash: string }
/** The PHC string of a new password; or whether a password is correct, with a new hash if the parameters of the old one are outdated. */
export type PasswordResult = string | { right: boolean; rehashed?: string }

export interface CryptoLanes {
  /** Signs claims. Returns the compact JWS. */
  sign(key: SigningKey, claims: object, onBatch?: BatchListener): Promise<string>
  /** Signs the claims of an access token and of its ID token, which gets `at_hash`. Returns both. `header` is that of ID tokens of the key. */
  signBoth(
    key: SigningKey,
    claims: object,
    idToken: { header: string; claims: object },
    onBatch?: BatchListener,
  ): Promise<readonly [access_token: string, id_token: string]>
  /** Whether a signature is valid. */
  verify(what: Verification, onBatch?: BatchListener): Promise<boolean>
  /** The PHC string of a password. */
  hashPassword(password: string): Promise<string>
  /** Whether a password matches a PHC string; `rehashed` if its parameters are outdated. Without a hash it does not match, after the same time. */
  verifyPassword(password: string, hash: string | undefined): Promise<{ right: boolean; rehashed?: string }>
  /** The 503 with which the next signature or verification would be refused, so that a request can be refused before any work. */
  refusal(): OAuthError | undefined
  /** The total working time of the signing threads, in milliseconds per thread. */
  busyMs(): number
  readonly stats: Record<'crypto' | 'password', LaneStats>
  close(): Promise<void>
}

/** Longer passwords are refused before they are hashed. */
export const MAX_PASSWORD_BYTES = 1024
/** The hash of a random password. The passwords of unknown users are compared with it, so that they take the same time. */
const DECOY = '$argon2id$v=19$m=19456,t=2,p=1$NgLa0kj3cFL7InzivTeI4A$X4p+vk4ySTGFn76n0+YMtbENbg1QBtG48cxnsBb5TB4'
const SIGN_BATCH = 256
const QUEUE = { crypto: 4096, password: 64 }
/** Slow signatures (RS256) are sent in small batches, and the first batches start while further signatures arrive. */
const [BATCH_MS, EAGER_MS] = [5, 1]
/** A signature with ES256, or two. To wake a thread for them costs more processor time and takes longer. RS256 takes longer than this. */
const HERE = { jobs: 2, ms: 0.3 }
/** Larger batches that are also signed here while no signing thread has loaded, and the milliseconds of such work after which the first one starts. */
const COLD = { jobs: 16, ms: 10 }

export interface CryptoOptions {
  /** Maximum number of signing threads. 0 means one less than the number of cores. */
  threads: number
}
/** The maximum number of signing threads: as configured, or for 0 by the number of cores. */
export const signingThreads = (configured: number): number =>
  configured || Math.max(1, Math.min(16, availableParallelism() - 1))

/** Opens the lanes. Their threads start when they are needed. */
export function openCrypto({ threads }: CryptoOptions, log: Logger): CryptoLanes {
  const known = new Map<string, LocalKey>()
  const crypto = openSigning(signingThreads(threads), known, log)
  const password = openPasswords(log)
  return {
    sign(key, claims, onBatch) {
      const payload = JSON.stringify(claims)
      if (isRemote(key)) return signRemotely(key, payload)
      known.set(key.header, key as LocalKey)
      return crypto.lane.push({ header: key.header, payload }, onBatch) as Promise<string>
    },
    async signBoth(key, claims, { header, claims: idClaims }, onBatch) {
      const [payload, idToken] = [JSON.stringify(claims), { header, payload: JSON.stringify(idClaims) }]
      if (isRemote(key)) return signBothRemotely(key, payload, idToken)
      known.set(key.header, key as LocalKey)
      if (!known.has(header)) known.set(header, { ...(key as LocalKey), header })
      const both = (await crypto.lane.push({ header: key.header, payload, idToken }, onBatch)) as string
      return both.split(' ') as [string, string]
    },
    verify: (what, onBatch) => crypto.lane.push(what, onBatch) as Promise<boolean>,
    hashPassword: (text) => password.lane.push({ password: normal(text) }) as Promise<string>,
    verifyPassword: (text, hash = DECOY) =>
      password.lane.push({ password: normal(text), hash }) as Promise<{ right: boolean; rehashed?: string }>,
    refusal: () => crypto.lane.refusal(),
    busyMs: () => crypto.lane.busyMs(),
    stats: { crypto: crypto.lane.stats, password: password.lane.stats },
    async close() {
      await Promise.all([crypto.lane.drained(), password.lane.drained()])
      await Promise.all([crypto.threads.close(), password.threads.close()])
    },
  }
}

/** The signing threads and their lane. `known` has the key of every header. The threads start with the load: many processes never need them. */
function openSigning(workers: number, known: ReadonlyMap<string, LocalKey>, log: Logger) {
  const threads = openThreads({ name: 'crypto', max: workers }, log)
  const perform = createSigningWork((header) => known.get(header))
  const runHere = (jobs: CryptoJob[]) => jobs.map((job) => outcomeOf(perform(job)))
  let coldMs = 0
  const lane = new Lane<CryptoJob, string | boolean>({
    name: 'crypto',
    workers,
    ahead: 1,
    maxBatch: SIGN_BATCH,
    maxQueue: QUEUE.crypto,
    batchMs: BATCH_MS,
    eagerMs: EAGER_MS,
    here: { ...HERE, run: runHere },
    async run(jobs, worked) {
      if (jobs.length <= COLD.jobs && !threads.isLoaded()) {
        const startedMs = performance.now()
        const outcomes = runHere(jobs)
        coldMs += performance.now() - startedMs
        if (coldMs > COLD.ms) threads.start()
        return outcomes
      }
      const batch = packJobs(jobs)
      // Transferring a key is expensive, and a thread needs it only once.
      let { results, ms } = (await runOn(threads, batch)) as CryptoBatchResult
      if (!results) {
        const keys = batch.headers.map((header) => known.get(header))
        ;({ results = [], ms } = (await runOn(threads, { ...batch, keys })) as CryptoBatchResult)
      }
      worked(ms)
      return results.map(outcomeOf)
    },
  })
  return { threads, lane }
}

/** The password threads and their lane. The threads start with the first login, because most processes never need them. */
function openPasswords(log: Logger) {
  const workers = Math.max(1, Math.floor(availableParallelism() / 4))
  const threads = openThreads({ name: 'password', max: workers, idleMs: 60_000 }, log)
  const lane = new Lane<PasswordJob, PasswordResult>({
    name: 'password',
    workers,
    maxBatch: 1,
    maxQueue: QUEUE.password,
    run: async (jobs) => ((await runOn(threads, jobs)) as PasswordResult[]).map((value) => ({ value })),
  })
  return { threads, lane }
}

const outcomeOf = (result: CryptoResult): Outcome<string | boolean> =>
  typeof result === 'object' ? { error: new Error(result.failed) } : { value: result }

const normal = (text: string) => text.normalize('NFC')

async function signRemotely({ header, key }: SigningKey & { key: RemoteSigner }, payload: string): Promise<string> {
  const input = signingInput(header, payload)
  return `${input}.${await key.sign(input)}`
}

async function signBothRemotely(
  key: SigningKey & { key: RemoteSigner },
  payload: string,
  idToken: Signature,
): Promise<[string, string]> {
  const access_token = await signRemotely(key, payload)
  const { header } = idToken
  return [access_token, await signRemotely({ ...key, header }, withTokenHash(idToken.payload, key.alg, access_token))]
}

async function runOn(pool: Threads, task: unknown): Promise<unknown> {
  try {
    return await pool.run(task)
  } catch (error) {
    throw unavailable('a worker thread failed', { reason: 'worker_failed', cause: error })
  }
}
