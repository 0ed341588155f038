// argon2id by the native library, or in JavaScript where none of its builds loads. Both give the same hashes.
import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createRequire } from 'node:module'
import { argon2id } from '@noble/hashes/argon2.js'
import { argon2Parameters } from './password_hash.ts'

export interface Argon2id {
  /** Missing for the native library: why none of its builds loads. In JavaScript a hash takes ten times as long. */
  fault?: string
  /** The PHC string of a password, with a new salt. */
  hash(password: string): string
  /** Whether a password matches a PHC string. May throw for another text. */
  verify(phc: string, password: string): boolean
}
type Native = Pick<typeof import('@node-rs/argon2'), 'hashSync' | 'verifySync'>

/** The parameters OWASP names: 19 MiB, two passes, one lane. */
export const PARAMETERS = { m: 19_456, t: 2, p: 1 } as const
const [ARGON2ID, HASH_BYTES, SALT_BYTES] = [2, 32, 16]

const require = createRequire(import.meta.url)

/** Loads the native library, or does without. */
export function openArgon2id(load = () => require('@node-rs/argon2') as Native): Argon2id {
  try {
    return ofNative(load())
  } catch (error) {
    return { fault: (error as Error).message, hash, verify }
  }
}

function ofNative({ hashSync, verifySync }: Native): Argon2id {
  const { m: memoryCost, t: timeCost, p: parallelism } = PARAMETERS
  const options = { algorithm: ARGON2ID, memoryCost, timeCost, parallelism, outputLen: HASH_BYTES }
  return { hash: (password) => hashSync(password, options), verify: verifySync }
}

function hash(password: string): string {
  const { m, t, p } = PARAMETERS
  const salt = randomBytes(SALT_BYTES)
  const sum = argon2id(password, salt, { ...PARAMETERS, dkLen: HASH_BYTES })
  return `$argon2id$v=19$m=${m},t=${t},p=${p}$${textOf(salt)}$${textOf(sum)}`
}

function verify(phc: string, password: string): boolean {
  const parameters = argon2Parameters(phc)
  if (!parameters) return false
  const [salt, sum] = phc
    .split('$')
    .slice(-2)
    .map((part) => Buffer.from(part, 'base64')) as [Buffer, Buffer]
  return timingSafeEqual(sum, argon2id(password, salt, { ...parameters, dkLen: sum.length }))
}

/** Base64 without padding, as in a PHC string. */
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64').replaceAll('=', '')
