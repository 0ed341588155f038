// The messages to a crypto thread: jobs as lines of one text, which is several times faster than a list of objects.
import type { KeyObject } from 'node:crypto'
import type { Alg, Jwk, VerifiedAlg } from '../records/jwk.ts'

/** A private key of this process. */
export interface LocalKey {
  /** The name of this key object in this process. No other key ever has the same name. */
  name: string
  alg: Alg
  key: KeyObject
}
export interface Signature {
  key: LocalKey
  /** First segment of what is signed. */
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
  /** The header segments that it signs with, and the name of the key of each. */
  signers: readonly Signer[]
  /** The keys, for a thread that does not have all of them; it stores them. */
  keys?: readonly LocalKey[]
  /**
   * A line for each job. The line of a signature is the index of its signer and the payload, which would have to be escaped inside of JSON.
   * An ID token follows after a tab, which JSON on one line does not contain.
   */
  lines: string
}
interface Signer {
  header: string
  key: string
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
  const signers: Signer[] = []
  const numberOf = (header: string, { name }: LocalKey) => {
    const known = signers.findIndex((each) => each.header === header && each.key === name)
    return known < 0 ? signers.push({ header, key: name }) - 1 : known
  }
  const textOf = ({ key, header, payload, idToken }: Signature): string => {
    const text = `${numberOf(header, key)} ${payload}`
    return idToken ? `${text}\t${textOf(idToken)}` : text
  }
  const lines = jobs.map((job) => ('payload' in job ? textOf(job) : JSON.stringify(job)))
  return { signers, lines: lines.join('\n') }
}

/** The different keys that jobs sign with. */
export const signingKeysOf = (jobs: readonly CryptoJob[]): LocalKey[] => [
  ...new Map(
    jobs
      .flatMap((job) => ('payload' in job ? (job.idToken ? [job, job.idToken] : [job]) : []))
      .map(({ key }) => [key.name, key] as const),
  ).values(),
]

/** The jobs of a batch, in their order. Undefined when a key is missing. */
export function unpackJobs(
  { signers, lines }: CryptoBatch,
  keyOf: (name: string) => LocalKey | undefined,
): CryptoJob[] | undefined {
  const known = signers.flatMap(({ header, key: name }) => {
    const key = keyOf(name)
    return key ? [{ header, key }] : []
  })
  if (known.length < signers.length) return undefined
  if (lines === '') return []
  return lines.split('\n').map((line) => {
    if (line.startsWith('{')) return JSON.parse(line) as Verification
    const tab = line.indexOf('\t')
    if (tab < 0) return signatureOf(known, line)
    return signatureOf(known, line.slice(0, tab), signatureOf(known, line.slice(tab + 1)))
  })
}

/** Every member is named: V8 makes a new hidden class for each object that begins with a spread, and the code that signs stays slow. */
function signatureOf(
  signers: readonly Pick<Signature, 'header' | 'key'>[],
  text: string,
  idToken?: Signature,
): Signature {
  const end = text.indexOf(' ')
  const { key, header } = signers[Number(text.slice(0, end))] as Pick<Signature, 'header' | 'key'>
  return { key, header, payload: text.slice(end + 1), idToken }
}
