// Identifiers and bearer values. Ids are time-ordered, so that rows of the same time share database pages.
import { hash, randomFillSync, timingSafeEqual } from 'node:crypto'

const POOL_BYTES = 8192
const pool = Buffer.allocUnsafeSlow(POOL_BYTES)
let used = POOL_BYTES

function randomInto(target: Buffer, from: number, length: number): void {
  if (used + length > POOL_BYTES) {
    randomFillSync(pool)
    used = 0
  }
  pool.copy(target, from, used, used + length)
  pool.fill(0, used, used + length)
  used += length
}

const ID_BYTES = 16
const SECRET_BYTES = 32
const scratch = Buffer.allocUnsafeSlow(ID_BYTES + SECRET_BYTES)
let lastMs = 0
let sequence = 0

/** Writes a UUIDv7 (RFC 9562 §5.7) with a counter in rand_a, so that ids of one process are ordered within a millisecond. */
function fillId(target: Buffer): void {
  const nowMs = Date.now()
  if (nowMs > lastMs) {
    lastMs = nowMs
    sequence = 0
  } else if (++sequence > 0xfff) {
    lastMs++
    sequence = 0
  }
  target.writeUIntBE(lastMs, 0, 6)
  target.writeUInt16BE(0x7000 | sequence, 6)
  randomInto(target, 8, 8)
  target.writeUInt8(0x80 | (target.readUInt8(8) & 0x3f), 8)
}

/** A time-ordered 16-byte id as 22 base64url characters. */
export function newId(): string {
  fillId(scratch)
  return scratch.toString('base64url', 0, ID_BYTES)
}

/** The form of an id as newId() returns it: 16 bytes in canonical base64url. */
export const ID = /^[A-Za-z0-9_-]{21}[AQgw]$/
/** Whether a text has the form of an id. */
export const isId = (text: string): boolean => ID.test(text)

/** The smallest id of a time (epoch seconds), for range queries over time. */
export function idFloor(seconds: number): string {
  const bytes = Buffer.alloc(ID_BYTES)
  bytes.writeUIntBE(Math.max(0, Math.floor(seconds * 1000)), 0, 6)
  return bytes.toString('base64url')
}

/** The creation time of an id in epoch seconds. */
export const idTime = (id: string): number => Math.floor(Buffer.from(id, 'base64url').readUIntBE(0, 6) / 1000)

/** A random secret: 256 bits as 43 base64url characters. */
export function newSecret(prefix = ''): string {
  const bytes = Buffer.allocUnsafe(SECRET_BYTES)
  randomInto(bytes, 0, SECRET_BYTES)
  return prefix + bytes.toString('base64url')
}

/** SHA-256 of a text as base64url: how every secret of 256 random bits is stored. */
export const digest = (text: string): string => hash('sha256', text, 'base64url')

export interface Bearer {
  /** The value that the client receives: `<prefix>_<base64url of id and secret>`. */
  value: string
  /** The id of its row. */
  id: string
  /** The hash that is stored. */
  hash: string
}

/** A bearer value that begins with its row id (new or existing), so that it is found by primary key and compared by hash. */
export function newBearer(prefix: string, id?: string): Bearer {
  if (id === undefined) fillId(scratch)
  else scratch.write(id, 'base64url')
  randomInto(scratch, ID_BYTES, SECRET_BYTES)
  const value = `${prefix}_${scratch.toString('base64url')}`
  return { value, id: scratch.toString('base64url', 0, ID_BYTES), hash: digest(value) }
}

/** A bearer value from a row id and a given secret of 32 bytes (base64url). The same input returns the same text. */
export function bearerOf(prefix: string, id: string, secret: string): Bearer {
  const value = `${prefix}_${Buffer.concat([Buffer.from(id, 'base64url'), Buffer.from(secret, 'base64url')]).toString('base64url')}`
  return { value, id, hash: digest(value) }
}

const BEARER = /^[A-Za-z0-9_-]{64}$/
/** Parses a bearer value. Undefined when this service cannot have issued it. */
export function parseBearer(prefix: string, value: string): Bearer | undefined {
  if (!value.startsWith(`${prefix}_`)) return undefined
  const body = value.slice(prefix.length + 1)
  if (!BEARER.test(body)) return undefined
  return { value, id: Buffer.from(body, 'base64url').toString('base64url', 0, ID_BYTES), hash: digest(value) }
}

/** Compares two texts in constant time. Texts of different length differ without a comparison of their content. */
export function equalSecrets(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** Compares ids by the time at which they were made. Their texts sort differently. */
export const compareIds = (a: string, b: string): number =>
  Buffer.compare(Buffer.from(a, 'base64url'), Buffer.from(b, 'base64url'))
