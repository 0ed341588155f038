// The points of Ed25519 keys from outside, which OpenSSL does not validate: it accepts any 32 bytes.
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
/** Loaded with the first such key, because few clients have one. */
const library = () => require('@noble/curves/ed25519.js') as typeof import('@noble/curves/ed25519.js')

/**
 * Whether bytes are a point of Ed25519 that only the private key can sign for (RFC 8032 §5.1.3). A key of small order
 * accepts signatures that were made without it.
 */
export function isSoundPoint(bytes: Uint8Array): boolean {
  try {
    return !library().ed25519.Point.fromBytes(bytes).isSmallOrder()
  } catch {
    return false
  }
}
