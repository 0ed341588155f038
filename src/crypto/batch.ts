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
  /** The ID token of this access token. It is signed in the same job, because it contains the hash of the signed access token. */
  idToken?: Omit<Signature, 'idToken'>
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
  /**
   * A line for each job. The line of a signature is the index of its key and the payload, which would have to be escaped inside of JSON.
   * An ID token follows after a tab, which JSON on one line does not contain.
   */
  lines: string
}
/** The compact JWS, with that of the ID token after a space; or whether the signature is valid. */
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
  const textOf = ({ header, payload, idToken }: Signature): string => {
    const text = `${numberOf(header)} ${payload}`
    return idToken ? `${text}\t${textOf(idToken)}` : text
  }
  const lines = jobs.map((job) => ('payload' in job ? textOf(job) : JSON.stringify(job)))
  return { headers, lines: lines.join('\n') }
}

/** The jobs of a batch, in their order. */
export const unpackJobs = ({ headers, lines }: CryptoBatch): CryptoJob[] =>
  lines.split('\n').map((line) => {
    if (line.startsWith('{')) return JSON.parse(line) as Verification
    const tab = line.indexOf('\t')
    if (tab < 0) return signatureOf(headers, line)
    return { ...signatureOf(headers, line.slice(0, tab)), idToken: signatureOf(headers, line.slice(tab + 1)) }
  })

function signatureOf(headers: readonly string[], text: string): Signature {
  const end = text.indexOf(' ')
  return { header: headers[Number(text.slice(0, end))] as string, payload: text.slice(end + 1) }
}
