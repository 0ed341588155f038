// Signatures by the transit engine. Waiting signatures are sent as one batch. Only digests are sent, so the engine never sees claims.
import { createHash } from 'node:crypto'
import { Lane, type Outcome } from '../../lib/threads/lane.ts'
import type { Alg } from '../../records/jwk.ts'
import type { TransitClient } from './client.ts'
import { storeUnavailable, TransitRefusal } from './error.ts'
import { pathOf } from './lease.ts'

interface Job {
  version: number
  digest: string
}
export type TransitSigner = ReturnType<typeof createTransitSigner>

/** Fewer and larger batches than for threads, because a call costs more than a signature. */
const CALLS_AT_ONCE = 4
const MAX_BATCH = 128
const MAX_QUEUE = 2048
const ES256_BYTES = 64
const SIGNATURE = /^\w+:v(\d+):([A-Za-z0-9+/_-]+={0,2})$/

/** Creates the signer of a key. `onRefused` is called when the engine refuses to sign with a version. */
export function createTransitSigner(
  client: TransitClient,
  key: { mount: string; name: string; alg: Alg },
  onRefused: () => void,
) {
  const path = pathOf(key.mount, 'sign', key.name)
  const lane = new Lane<Job, string>({
    name: 'transit',
    workers: CALLS_AT_ONCE,
    maxBatch: MAX_BATCH,
    maxQueue: MAX_QUEUE,
    async run(jobs) {
      const outcomes = new Map<Job, Outcome<string>>()
      // A call signs with one version. During a rotation there are two versions, and so two calls.
      for (const version of new Set(jobs.map((job) => job.version))) {
        const batch = jobs.filter((job) => job.version === version)
        const results = await signBatch(version, batch).catch((error: unknown) =>
          batch.map(() => ({ error: storeUnavailable(error) })),
        )
        for (const [i, job] of batch.entries()) outcomes.set(job, results[i] as Outcome<string>)
      }
      return jobs.map((job) => outcomes.get(job) as Outcome<string>)
    },
  })

  async function signBatch(version: number, jobs: Job[]): Promise<Outcome<string>[]> {
    const data = await client.call('POST', path, {
      key_version: version,
      hash_algorithm: 'sha2-256',
      prehashed: true,
      ...(key.alg === 'ES256' ? { marshaling_algorithm: 'jws' } : { signature_algorithm: 'pkcs1v15' }),
      batch_input: jobs.map(({ digest }) => ({ input: digest })),
    })
    const results = data?.['batch_results']
    if (!Array.isArray(results) || results.length !== jobs.length)
      throw new TransitRefusal(data ? 200 : 404, path, data ? 'not one result for each input' : 'not found')
    return results.map((result: Record<string, unknown>) => {
      if (result['error']) onRefused()
      return outcomeOf(result, path, version, key.alg)
    })
  }

  return {
    /** The signature (base64url) of an input by one version. Rejects with 503 when it cannot be obtained. */
    sign: (version: number, input: string): Promise<string> =>
      lane.push({ version, digest: createHash('sha256').update(input).digest('base64') }),
    stats: lane.stats,
  }
}

function outcomeOf(
  { signature, error }: Record<string, unknown>,
  path: string,
  version: number,
  alg: Alg,
): Outcome<string> {
  if (error) return { error: storeUnavailable(new TransitRefusal(200, path, String(error))) }
  const [, signedBy, text = ''] = SIGNATURE.exec(String(signature)) ?? []
  const bytes = Buffer.from(text, 'base64')
  const isTooLong = alg === 'ES256' && bytes.length > ES256_BYTES
  if (Number(signedBy) !== version || bytes.length < ES256_BYTES || isTooLong)
    return { error: storeUnavailable(new Error(`${path}: the signature is not one of version ${version} for ${alg}`)) }
  return { value: bytes.toString('base64url') }
}
