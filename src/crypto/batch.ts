// The messages to a crypto thread: jobs as lines of one text, which is several times faster than a list of objects.
import type { KeyObject } from 'node:crypto'
import type { Alg, Jwk, VerifiedAlg } from '../records/jwk.ts'

/** A private key of this process, as a thread stores it. */
export interface LocalKey {
  kid: string
  alg: Alg
  key: KeyObject
  /** The first segment of the tokens that it signs. */
  header: string
}
export interface Signature {
  /** First segment of what is signed: it names the key and the type. */
  header: string
  /** JSON on one line. */
  payload: string
}
export interface Verification {
  alg: VerifiedAlg
  jwk: Jwk
  /** RFC 7638 thumbprint of `jwk`: the name of the parsed key in the threads. */
  thumbprint: string
  input: string
  signature: string
}
export type CryptoJob = Signature | Verification

export interface CryptoBatch {
  /** The header segments that it signs with: each names a key. */
  headers: readonly string[]
  /** The keys, for a thread that does not have all of them; it stores them. */
  keys?: readonly LocalKey[]
  /** A line for each job. The line of a signature is the index of its key and the payload, which would have to be escaped inside of JSON. */
  lines: string
}
/** The compact JWS, or whether the signature is valid. */
export type CryptoResult = string | boolean | { failed: string }
export interface CryptoBatchResult {
  /** Missing when the thread lacks a key; then no job was run. */
  results?: CryptoResult[]
  /** Milliseconds that the thread needed. */
  ms: number
}

/** Builds a batch of jobs, without keys. */
export function packJobs(jobs: readonly CryptoJob[]): CryptoBatch {
  const headers: string[] = []
  const numberOf = (header: string) => {
    const known = headers.indexOf(header)
    return known < 0 ? headers.push(header) - 1 : known
  }
  const lines = jobs.map((job) => ('payload' in job ? `${numberOf(job.header)} ${job.payload}` : JSON.stringify(job)))
  return { headers, lines: lines.join('\n') }
}

/** The jobs of a batch, in their order. */
export const unpackJobs = ({ headers, lines }: CryptoBatch): CryptoJob[] =>
  lines.split('\n').map((line) => {
    if (line.startsWith('{')) return JSON.parse(line) as Verification
    const end = line.indexOf(' ')
    return { header: headers[Number(line.slice(0, end))] as string, payload: line.slice(end + 1) }
  })
