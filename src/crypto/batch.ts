// What crosses to a crypto thread: jobs as lines of one text, several times faster than a list of objects.
import type { KeyObject } from 'node:crypto'
import type { Alg, Jwk, UpstreamAlg } from '../records/jwk.ts'

/** A key that this process has, as a thread keeps it. */
export interface LocalKey {
  kid: string
  alg: Alg
  key: KeyObject
  /** First segment of what it signs. */
  header: string
}
export interface Signature {
  kid: string
  /** JSON on one line. */
  payload: string
}
export interface Verification {
  alg: UpstreamAlg
  jwk: Jwk
  /** RFC 7638 thumbprint of `jwk`; names the parsed key in the threads. */
  thumbprint: string
  input: string
  signature: string
}
export type CryptoJob = Signature | Verification

export interface CryptoBatch {
  /** The keys that it signs with. */
  kids: readonly string[]
  /** These keys, for a thread that did not know all of them; it keeps them. */
  keys?: readonly LocalKey[]
  /** A line for each job: a signature is the number of its key and the payload, which would be escaped inside of other JSON. */
  lines: string
}
/** The compact JWS, or whether the signature is right. */
export type CryptoResult = string | boolean | { failed: string }
export interface CryptoBatchResult {
  /** Missing when the thread needs the keys: nothing was done. */
  results?: CryptoResult[]
  /** Milliseconds of the thread. */
  ms: number
}

/** Makes a batch of some jobs, without keys. */
export function packJobs(jobs: readonly CryptoJob[]): CryptoBatch {
  const kids: string[] = []
  const numberOf = (kid: string) => {
    const known = kids.indexOf(kid)
    return known < 0 ? kids.push(kid) - 1 : known
  }
  const lines = jobs.map((job) => ('kid' in job ? `${numberOf(job.kid)} ${job.payload}` : JSON.stringify(job)))
  return { kids, lines: lines.join('\n') }
}

/** The jobs of a batch, in their order. */
export const unpackJobs = ({ kids, lines }: CryptoBatch): CryptoJob[] =>
  lines.split('\n').map((line) => {
    if (line.startsWith('{')) return JSON.parse(line) as Verification
    const end = line.indexOf(' ')
    return { kid: kids[Number(line.slice(0, end))] as string, payload: line.slice(end + 1) }
  })
