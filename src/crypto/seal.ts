// Values that travel through a browser: encrypted and authenticated (JWE, A256GCM), or authenticated by a MAC. Every purpose has
// a key of its own, derived from a session secret. The first secret seals. Values of every secret of the list are accepted.
import { createHmac } from 'node:crypto'
import { compactDecrypt, errors } from 'jose'
import { deriveKey, encrypt, KEY_BYTES, randomNonce, TAG_BYTES } from './aead.ts'

export type Sealer = ReturnType<typeof createSealer>

/** Browsers keep cookies up to this length. */
const MAX_COOKIE = 4096
/** The protected header of every sealed value. Direct encryption has no encrypted key (RFC 7516 §5.1). Other algorithms are not accepted. */
const HEADER = { alg: 'dir', enc: 'A256GCM' } as const
const PROTECTED = Buffer.from(JSON.stringify(HEADER)).toString('base64url')
const ACCEPTED = { keyManagementAlgorithms: [HEADER.alg], contentEncryptionAlgorithms: [HEADER.enc] }

/**
 * Derives the keys of all purposes from secrets. The first secret seals; values of all of them are accepted, up to a length: that of a
 * cookie by default.
 */
export function createSealer(secrets: readonly [string, ...string[]], maxLength = MAX_COOKIE) {
  const [first, ...others] = secrets
  const { key, mac } = keysOf(first)
  const earlier = others.map(keysOf)
  return {
    /** Encrypts and authenticates a value. */
    // Not with jose: WebCrypto takes several times as long for values of this size. What jose opens is a JWE.
    async seal(value: object): Promise<string> {
      const nonce = randomNonce()
      const sealed = encrypt({ key, nonce, aad: Buffer.from(PROTECTED) }, Buffer.from(JSON.stringify(value)))
      const parts = [nonce, sealed.subarray(0, -TAG_BYTES), sealed.subarray(-TAG_BYTES)]
      return `${PROTECTED}..${parts.map((part) => part.toString('base64url')).join('.')}`
    },
    /** The value, or undefined when the text was not made by seal() with one of the secrets. */
    async open(text: string): Promise<Record<string, unknown> | undefined> {
      if (text.length > maxLength) return undefined
      for (const each of [key, ...earlier.map((keys) => keys.key)]) {
        const plaintext = await decrypted(text, each)
        if (plaintext) return JSON.parse(Buffer.from(plaintext).toString()) as Record<string, unknown>
      }
      return undefined
    },
    /** A MAC over a text for one purpose, as base64url. */
    mac,
    /** The MACs of the text with each of the secrets. The first one is the result of mac(). */
    macs: (purpose: string, text: string): string[] => [
      mac(purpose, text),
      ...earlier.map((keys) => keys.mac(purpose, text)),
    ],
  }
}

async function decrypted(text: string, key: Uint8Array): Promise<Uint8Array | undefined> {
  try {
    return (await compactDecrypt(text, key, ACCEPTED)).plaintext
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined
    throw error
  }
}

/** The key of sealed values, and the MACs, of one secret. */
function keysOf(secret: string): { key: Buffer; mac: (purpose: string, text: string) => string } {
  const derive = (purpose: string) => deriveKey(secret, 'service', purpose, KEY_BYTES)
  const macs = new Map<string, Buffer>()
  const macKey = (purpose: string) => {
    const known = macs.get(purpose) ?? derive(`mac ${purpose}`)
    macs.set(purpose, known)
    return known
  }
  return {
    key: derive('session cookie'),
    mac: (purpose, text) => createHmac('sha256', macKey(purpose)).update(text).digest('base64url'),
  }
}
