// Compact JWS (RFC 7515), parsed strictly. Decoding, verification and signing are only here, for the front thread and the workers.
import { constants, createPublicKey, hash as digestOf, type KeyObject, sign, verify } from 'node:crypto'
import { digest } from '../lib/id.ts'
import { parseObject } from '../lib/json.ts'
import { Lru } from '../lib/lru.ts'
import { MB } from '../lib/memory.ts'
import { type Alg, type ClientAlg, type Jwk, KEY_KINDS, type UpstreamAlg, type VerifiedAlg } from '../records/jwk.ts'
import { derOf, rawOf } from './ecdsa.ts'
import { isSoundPoint } from './points.ts'

interface Algorithm {
  /** Missing where the algorithm itself has one: Ed25519. */
  hash?: 'sha256' | 'sha384' | 'sha512'
  /** Bytes of a signature. For RSA it is the size of the modulus. */
  signatureBytes?: number
  /** Of RSA. */
  options?: { padding: number; saltLength?: number }
}
type Hash = NonNullable<Algorithm['hash']>
interface Hashed extends Algorithm {
  hash: Hash
}
const ec = (hash: Hash, signatureBytes: number): Hashed => ({ hash, signatureBytes })
const pkcs1 = (hash: Hash): Hashed => ({ hash, options: { padding: constants.RSA_PKCS1_PADDING } })
const pss = (hash: Hash, saltLength: number): Hashed => ({
  hash,
  options: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength },
})
const ALGORITHMS: Record<Alg, Hashed> = { ES256: ec('sha256', 64), RS256: pkcs1('sha256'), PS256: pss('sha256', 32) }
const UPSTREAM: Record<UpstreamAlg, Hashed> = {
  ...ALGORITHMS,
  ES384: ec('sha384', 96),
  ES512: ec('sha512', 132),
  RS384: pkcs1('sha384'),
  RS512: pkcs1('sha512'),
  PS384: pss('sha384', 48),
  PS512: pss('sha512', 64),
}
const CLIENT: Record<ClientAlg, Algorithm> = { ...ALGORITHMS, EdDSA: { signatureBytes: 64 } }
const VERIFIED: Record<VerifiedAlg, Algorithm> = { ...UPSTREAM, ...CLIENT }
export const CLIENT_ALGS = Object.keys(CLIENT) as readonly ClientAlg[]
export const VERIFIED_ALGS = Object.keys(VERIFIED) as readonly VerifiedAlg[]
export const isAlg = (text: unknown): text is Alg => typeof text === 'string' && Object.hasOwn(ALGORITHMS, text)
export const UPSTREAM_ALGS = Object.keys(UPSTREAM)
export const isUpstreamAlg = (text: unknown): text is UpstreamAlg =>
  typeof text === 'string' && Object.hasOwn(UPSTREAM, text)
/** The `at_hash` of an access token: the left half of its hash (OpenID Connect Core §3.1.3.6). */
export function accessTokenHash(alg: UpstreamAlg, access_token: string): string {
  const whole = digestOf(UPSTREAM[alg].hash, access_token, 'buffer')
  return whole.subarray(0, whole.length / 2).toString('base64url')
}

export interface Jws {
  header: Readonly<Record<string, unknown>>
  payload: Readonly<Record<string, unknown>>
  /** The signing input: header and payload as they were received. */
  input: string
  signature: string
}

/** A typ without the prefix that may be omitted, in lower case (RFC 7515 §4.1.9). */
export const mediaType = (typ: string): string => typ.toLowerCase().replace(/^application\//, '')

/** Tokens of one issuer and proofs of one key have the same header, so parsed headers are cached. Longer headers are not. */
const [MAX_HEADERS, MAX_HEADER_CHARS] = [5000, 1024]
const headers = new Lru<Jws['header']>({ max: MAX_HEADERS, bytes: 4 * MB })

/**
 * Parses a compact JWS. Undefined unless it is three canonical base64url segments with JSON objects in the first two.
 * The same header returns the same object as long as it is cached.
 */
export function decodeJws(compact: string, maxLength: number): Jws | undefined {
  if (compact.length > maxLength) return undefined
  const segments = compact.split('.')
  if (segments.length !== 3) return undefined
  const [head, body, signature] = segments as [string, string, string]
  const header = decodeHeader(head)
  const payload = decodeJson(body)
  // An unknown critical extension must not be ignored (RFC 7515 §4.1.11), and b64 or zip would change what was signed.
  if (!header || !payload || 'crit' in header || 'b64' in header || 'zip' in header || !isCanonical(signature))
    return undefined
  return { header, payload, input: `${head}.${body}`, signature }
}

/** Whether a text begins with the header of a JWS and a dot. Nothing is said of the rest. */
export function beginsAsJws(text: string): boolean {
  const [head = '', rest] = text.split('.', 2)
  return rest !== undefined && typeof decodeJson(head)?.['alg'] === 'string'
}

function decodeHeader(segment: string): Jws['header'] | undefined {
  const known = headers.get(segment)
  if (known) return known
  const header = decodeJson(segment)
  if (header && segment.length <= MAX_HEADER_CHARS) headers.set(segment, header)
  return header
}

const decodeJson = (segment: string): Record<string, unknown> | undefined =>
  isCanonical(segment) ? parseObject(Buffer.from(segment, 'base64url')) : undefined

const ALPHABET = /^[A-Za-z0-9_-]*$/
/** The valid last characters if the last character encodes only four or two bits: the remaining bits must be zero. */
const LAST_OF = { 2: 'AQgw', 3: 'AEIMQUYcgkosw048' } as const
/** Two encodings of the same bytes must not count as two tokens (RFC 4648 §3.5). */
function isCanonical(segment: string): boolean {
  const rest = segment.length % 4
  if (rest === 1 || !ALPHABET.test(segment)) return false
  return rest === 0 || LAST_OF[rest as 2 | 3].includes(segment.at(-1) as string)
}

/** A member of a key in canonical encoding, with at most 8192 bits. */
const isBytes = (member: unknown): boolean =>
  typeof member === 'string' && member !== '' && member.length <= 1366 && isCanonical(member)

/** The key thumbprint of RFC 7638 and RFC 8037. Undefined for keys of other types than EC, RSA and OKP, or with missing members. */
export function thumbprint(jwk: Jwk): string | undefined {
  const { kty, crv, x, y, e, n } = jwk
  if (kty === 'EC' && typeof crv === 'string' && [x, y].every(isBytes))
    return digest(JSON.stringify({ crv, kty, x, y }))
  if (kty === 'RSA' && [e, n].every(isBytes)) return digest(JSON.stringify({ e, kty, n }))
  if (kty === 'OKP' && typeof crv === 'string' && isBytes(x)) return digest(JSON.stringify({ crv, kty, x }))
  return undefined
}

const MIN_RSA_BITS = 2048
const MAX_RSA_BITS = 8192
/** A very large exponent would make every verification as slow as a signature. */
const MAX_EXPONENT_BYTES = 4
/** RFC 7518 §6.2.1.2: the full size of a coordinate, leading zeros included. */
const COORDINATE_BYTES: Readonly<Record<string, number>> = { 'P-256': 32, 'P-384': 48, 'P-521': 66, Ed25519: 32 }

const bytesOf = (member: unknown): Buffer =>
  isBytes(member) ? Buffer.from(member as string, 'base64url') : Buffer.alloc(0)
/** RFC 7518 §2, Base64urlUInt: without leading zeros, so that a key has one encoding and one thumbprint. */
const isOddNumber = (bytes: Buffer): boolean => bytes[0] !== 0 && (bytes.at(-1) ?? 0) % 2 === 1

/**
 * Whether a public key from outside may verify signatures of an algorithm: type, curve and size match, and its encoding is canonical.
 * With an exponent of 1, signatures can be made without the private key. No key pair has an even exponent.
 */
export function isSoundKey(alg: VerifiedAlg, { kty, crv, x, y, e, n }: Jwk): boolean {
  const kind = KEY_KINDS[alg]
  if (kty !== kind.kty || crv !== kind.crv) return false
  if (kty !== 'RSA')
    return (kty === 'EC' ? [x, y] : [x]).every((each) => bytesOf(each).length === COORDINATE_BYTES[String(crv)])
  const [exponent, modulus] = [bytesOf(e), bytesOf(n)]
  const bits = modulus.length * 8 - Math.clz32(modulus[0] ?? 0) + 24
  if (bits < MIN_RSA_BITS || bits > MAX_RSA_BITS || !isOddNumber(modulus)) return false
  return isOddNumber(exponent) && exponent.length <= MAX_EXPONENT_BYTES && !exponent.equals(Buffer.of(1))
}

/** Imports a public key for an algorithm. Undefined when it is not valid. */
export function importKey(alg: VerifiedAlg, jwk: Jwk): KeyObject | undefined {
  const { kty, crv, x, y, e, n } = jwk
  if (!isSoundKey(alg, jwk) || (kty === 'OKP' && !isSoundPoint(bytesOf(x)))) return undefined
  try {
    return createPublicKey({ key: { kty, crv, x, y, e, n } as Record<string, string>, format: 'jwk' })
  } catch {
    return undefined
  }
}

/** Verifies a signature (base64url) over `input`. */
export function verifySignature(alg: VerifiedAlg, key: KeyObject, input: string, signature: string): boolean {
  const { hash, options, signatureBytes } = VERIFIED[alg]
  const raw = Buffer.from(signature, 'base64url')
  if (signatureBytes !== undefined && raw.length !== signatureBytes) return false
  const [what, encoded] = [options ? { key, ...options } : key, KEY_KINDS[alg].kty === 'EC' ? derOf(raw) : raw]
  return verify(hash, Buffer.from(input), what, encoded)
}

/** The header segment of all tokens of a type that a key signs. */
export const headerSegment = (typ: string, alg: Alg, kid: string): string =>
  Buffer.from(JSON.stringify({ typ, alg, kid })).toString('base64url')

/** The signing input: a prepared header segment and a payload (JSON text). */
export const signingInput = (header: string, payload: string): string =>
  `${header}.${Buffer.from(payload).toString('base64url')}`

/** The payload of an ID token (JSON text) with the hash of the access token that it belongs to. */
export const withTokenHash = (payload: string, alg: Alg, access_token: string): string =>
  `${payload.slice(0, -1)},"at_hash":"${accessTokenHash(alg, access_token)}"}`

/** Characters of an ES256 signature. That of an RSA key has as many as its modulus. */
const ES256_CHARS = 86
/** The length of the token that signing gives, by the public key of the signer. */
export const signedLength = (header: string, payload: string, jwk: Jwk | undefined): number =>
  header.length +
  Math.ceil((Buffer.byteLength(payload) * 4) / 3) +
  (typeof jwk?.['n'] === 'string' ? jwk['n'].length : ES256_CHARS) +
  '..'.length

/** Signs a prepared header segment and a payload (JSON text). Returns the compact JWS. */
export function signJws(alg: ClientAlg, key: KeyObject, header: string, payload: string): string {
  const input = signingInput(header, payload)
  const { hash, options, signatureBytes = 0 } = CLIENT[alg]
  const signature = sign(hash, Buffer.from(input), options ? { key, ...options } : key)
  return `${input}.${(KEY_KINDS[alg].kty === 'EC' ? rawOf(signature, signatureBytes / 2) : signature).toString('base64url')}`
}
