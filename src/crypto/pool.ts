// The crypto threads: signatures and verifications go through a lane, passwords to threads of their own.
import type { KeyObject } from 'node:crypto'
import { availableParallelism } from 'node:os'
import type { OAuthError } from '../lib/error.ts'
import { type BatchListener, Lane, type LaneStats, type Outcome, type StageListener } from '../lib/threads/lane.ts'
import { openWorkerPool } from '../lib/threads/worker_pool.ts'
import type { Alg } from '../records/jwk.ts'
import type { Logger } from '../telemetry/logger.ts'
import {
  type CryptoBatch,
  type CryptoBatchResult,
  type CryptoJob,
  type CryptoResult,
  type LocalKey,
  packJobs,
  signingKeysOf,
  type Verification,
} from './batch.ts'
import { signingInput, withTokenHash } from './jws.ts'
import { openPasswords, type Passwords, workerFailed } from './passwords.ts'
import { createSigningWork } from './signing_work.ts'

/** Signs in a remote engine, which does not reveal the private key. */
export interface RemoteSigner {
  /** The signature (base64url; for ES256 the two numbers concatenated) of the input of a JWS. Rejects with 503 when the engine is unavailable. */
  sign(input: string): Promise<string>
}
/** A signing key, of this process or of a remote engine. */
export interface SigningKey {
  kid: string
  alg: Alg
  key: KeyObject | RemoteSigner
  /** The first segment of the tokens that it signs. */
  header: string
}
/** A remote engine signs, which may fail: then the signature is made before the commit. */
export const isRemote = (key: SigningKey): key is SigningKey & { key: RemoteSigner } => 'sign' in key.key

export interface CryptoLanes extends Passwords {
  /** Signs claims, or their JSON text on one line. Returns the compact JWS. */
  sign(key: SigningKey, claims: object | string, onBatch?: BatchListener): Promise<string>
  /** Signs the claims of an access token and of its ID token, which gets `at_hash`. Returns both. Both keys are local, or both are remote. */
  signBoth(
    key: SigningKey,
    claims: object,
    idToken: { key: SigningKey; claims: object },
    onBatch?: BatchListener,
  ): Promise<readonly [access_token: string, id_token: string]>
  /** Whether a signature is valid. */
  verify(what: Verification, onBatch?: BatchListener): Promise<boolean>
  /** The 503 with which the next signature or verification would be refused, so that a request can be refused before any work. */
  refusal(): OAuthError | undefined
  /** The total working time of the signing threads, in milliseconds per thread. */
  busyMs(): number
  readonly stats: Record<'crypto' | 'password', LaneStats>
  close(): Promise<void>
}

const SIGN_BATCH = 256
const MAX_QUEUE = 4096
/** Batches that a busy thread gets in advance. */
const AHEAD = 1
/** Slow signatures (RS256) are sent in small batches, and the first batches start while further signatures arrive. */
const [BATCH_MS, EAGER_MS] = [5, 1]
/** A signature with ES256, or two. To wake a thread for them costs more processor time and takes longer. RS256 takes longer than this. */
const HERE = { jobs: 4, ms: 0.3 }
/** Larger batches that are also signed here while no signing thread has loaded, and the milliseconds of such work after which the first one starts. */
const COLD = { jobs: 16, ms: 10 }

export interface CryptoOptions {
  /** Maximum number of signing threads. 0 means one less than the number of cores. */
  threads: number
  onStage?: StageListener
}
/** The maximum number of signing threads: as configured, or for 0 by the number of cores. */
export const signingThreads = (configured: number): number =>
  configured || Math.max(1, Math.min(16, availableParallelism() - 1))

/** Opens the lanes. Their threads start when they are needed. */
export function openCrypto({ threads, onStage }: CryptoOptions, log: Logger): CryptoLanes {
  const localKey = createKeyNames()
  const crypto = openSigning(signingThreads(threads), log, onStage)
  const password = openPasswords(log)
  return {
    sign(key, claims, onBatch) {
      const payload = typeof claims === 'string' ? claims : JSON.stringify(claims)
      if (isRemote(key)) return signRemotely(key, payload)
      return crypto.lane.push({ key: localKey(key), header: key.header, payload }, onBatch) as Promise<string>
    },
    async signBoth(key, claims, { key: idKey, claims: idClaims }, onBatch) {
      const [payload, idPayload] = [JSON.stringify(claims), JSON.stringify(idClaims)]
      if (isRemote(key) && isRemote(idKey)) return signBothRemotely(key, payload, idKey, idPayload)
      const idToken = { key: localKey(idKey), header: idKey.header, payload: idPayload }
      const job = { key: localKey(key), header: key.header, payload, idToken }
      const both = (await crypto.lane.push(job, onBatch)) as string
      return both.split(' ') as [string, string]
    },
    verify: (what, onBatch) => crypto.lane.push(what, onBatch) as Promise<boolean>,
    hashPassword: password.hashPassword,
    verifyPassword: password.verifyPassword,
    refusal: () => crypto.lane.refusal(),
    busyMs: () => crypto.lane.busyMs(),
    stats: { crypto: crypto.lane.stats, password: password.stats },
    async close() {
      await crypto.lane.drained()
      await Promise.all([crypto.threads.close(), password.close()])
    },
  }
}

/** Names each key object of this process. A name is forgotten with its key. */
function createKeyNames(): (signing: SigningKey) => LocalKey {
  const names = new WeakMap<object, string>()
  let count = 0
  return ({ alg, key }) => {
    const name = names.get(key) ?? String(++count)
    names.set(key, name)
    return { name, alg, key: key as KeyObject }
  }
}

/** The signing threads and their lane. The threads start with the load: many processes never need them. */
function openSigning(workers: number, log: Logger, onStage: StageListener | undefined) {
  const threads = openWorkerPool<CryptoBatch, CryptoBatchResult>(
    { name: 'crypto', max: workers, tasks: 1 + AHEAD },
    log,
  )
  const perform = createSigningWork()
  const runHere = (jobs: CryptoJob[]) => jobs.map((job) => outcomeOf(perform(job)))
  let coldMs = 0
  const lane = new Lane<CryptoJob, string | boolean>({
    name: 'crypto',
    workers,
    ahead: AHEAD,
    maxBatch: SIGN_BATCH,
    maxQueue: MAX_QUEUE,
    batchMs: BATCH_MS,
    eagerMs: EAGER_MS,
    here: { ...HERE, run: runHere },
    onStage,
    async run(jobs, worked) {
      if (jobs.length <= COLD.jobs && !threads.isLoaded()) {
        const startedMs = performance.now()
        const outcomes = runHere(jobs)
        coldMs += performance.now() - startedMs
        // The first batch only starts the thread.
        if (coldMs > COLD.ms && threads.unfinished() === 0) void threads.run(packJobs([])).catch(() => {})
        return outcomes
      }
      const batch = packJobs(jobs)
      // Transferring a key is expensive, and a thread needs it only once.
      let { results, ms } = await threads.run(batch).catch(refuse)
      if (!results) {
        ;({ results = [], ms } = await threads.run({ ...batch, keys: signingKeysOf(jobs) }).catch(refuse))
      }
      worked(ms)
      return results.map(outcomeOf)
    },
  })
  return { threads, lane }
}

/** Fails the jobs of a batch with 503. */
function refuse(error: unknown): never {
  throw workerFailed(error)
}

const outcomeOf = (result: CryptoResult): Outcome<string | boolean> =>
  typeof result === 'object' ? { error: new Error(result.failed) } : { value: result }

async function signRemotely({ header, key }: SigningKey & { key: RemoteSigner }, payload: string): Promise<string> {
  const input = signingInput(header, payload)
  return `${input}.${await key.sign(input)}`
}

async function signBothRemotely(
  key: SigningKey & { key: RemoteSigner },
  payload: string,
  idKey: SigningKey & { key: RemoteSigner },
  idPayload: string,
): Promise<[string, string]> {
  const access_token = await signRemotely(key, payload)
  return [access_token, await signRemotely(idKey, withTokenHash(idPayload, idKey.alg, access_token))]
}
