// Authenticated encryption (AES-256-GCM): the one place that encrypts and decrypts. The formats around it belong to the callers:
// cookies (seal.ts), database rows (at_rest.ts) and backups (cli/backup/archive.ts).
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { hkdf } from '@noble/hashes/hkdf.js'
import { sha256 } from '@noble/hashes/sha2.js'

export const KEY_BYTES = 32
export const NONCE_BYTES = 12
export const TAG_BYTES = 16

const ALGORITHM = 'aes-256-gcm'
const OPTIONS = { authTagLength: TAG_BYTES }

export interface AeadContext {
  key: Buffer
  /** Must never be used twice with one key. */
  nonce: Buffer
  /** Additional authenticated data. The ciphertext decrypts only with the same bytes. */
  aad: Buffer
}

/** A nonce for a key that encrypts fewer than 2^32 texts (NIST SP 800-38D §8.3). */
export const randomNonce = (): Buffer => randomBytes(NONCE_BYTES)

/** Returns the ciphertext followed by the authentication tag. */
export function encrypt({ key, nonce, aad }: AeadContext, plaintext: Buffer): Buffer {
  const cipher = createCipheriv(ALGORITHM, key, nonce, OPTIONS).setAAD(aad)
  return Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()])
}

/** Returns the plaintext, or undefined when `sealed` is not what encrypt() returned for the same context. */
export function decrypt({ key, nonce, aad }: AeadContext, sealed: Buffer): Buffer | undefined {
  if (sealed.length < TAG_BYTES) return undefined
  const decipher = createDecipheriv(ALGORITHM, key, nonce, OPTIONS).setAAD(aad).setAuthTag(sealed.subarray(-TAG_BYTES))
  const plaintext = decipher.update(sealed.subarray(0, -TAG_BYTES))
  try {
    return Buffer.concat([plaintext, decipher.final()])
  } catch {
    return undefined
  }
}

/** The key of one use of a secret, by HKDF with SHA-256 (RFC 5869). `salt` names the kind of secret. */
export const deriveKey = (secret: string | Buffer, salt: string, use: string, bytes: number): Buffer =>
  Buffer.from(hkdf(sha256, Buffer.from(secret as string), Buffer.from(salt), Buffer.from(use), bytes))
