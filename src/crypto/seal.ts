// Values that travel through a browser: encrypted and authenticated (JWE, A256GCM), or authenticated by a MAC. Every purpose has
// a key of its own, derived from a session secret. The first secret seals. Values of every secret of the list are accepted.
import { createHmac, hkdfSync } from 'node:crypto'
import { decrypt, encrypt, KEY_BYTES, randomNonce, TAG_BYTES } from './aead.ts'

export interface Sealer {
  /** Encrypts and authenticates a value. */
  seal(value: object): string
  /** The value, or undefined when the text was not made by seal() with one of the secrets. */
  open(text: string): Record<string, unknown> | undefined
  /** A MAC over a text for one purpose, as base64url. */
  mac(purpose: string, text: string): string
  /** The MACs of the text with each of the secrets. The first one is the result of mac(). */
  macs(purpose: string, text: string): string[]
}

/** Browsers keep cookies up to this length. */
const MAX_LENGTH = 4096

/** The protected header of every sealed value; other algorithms are not accepted. Direct encryption has no encrypted key (RFC 7516 §5.1). */
const HEADER = Buffer.from('{"alg":"dir","enc":"A256GCM"}').toString('base64url')
const AAD = Buffer.from(HEADER)
/** JWE Compact Serialization (RFC 7516 §7.1): header, no key, nonce, ciphertext, tag. */
const SEALED = new RegExp(`^${HEADER}\\.\\.([\\w-]{16})\\.([\\w-]+)\\.([\\w-]{22})$`)

/** Derives the keys of all purposes from secrets. The first secret seals; values of all of them are accepted. */
export function createSealer(secrets: readonly [string, ...string[]]): Sealer {
  const [first, ...others] = secrets
  const { seal, mac, open } = sealerOf(first)
  const earlier = others.map(sealerOf)
  return {
    seal,
    mac,
    open(text) {
      let value = open(text)
      for (const sealer of earlier) value ??= sealer.open(text)
      return value
    },
    macs: (purpose, text) => [mac(purpose, text), ...earlier.map((sealer) => sealer.mac(purpose, text))],
  }
}

function sealerOf(secret: string): Omit<Sealer, 'macs'> {
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', secret, 'service', purpose, KEY_BYTES))
  const key = derive('session cookie')
  const macs = new Map<string, Buffer>()
  const macKey = (purpose: string) => {
    const known = macs.get(purpose) ?? derive(`mac ${purpose}`)
    macs.set(purpose, known)
    return known
  }
  return {
    seal(value) {
      const nonce = randomNonce()
      const sealed = encrypt({ key, nonce, aad: AAD }, Buffer.from(JSON.stringify(value)))
      const parts = [nonce, sealed.subarray(0, -TAG_BYTES), sealed.subarray(-TAG_BYTES)]
      return [HEADER, '', ...parts.map((part) => part.toString('base64url'))].join('.')
    },
    open(text) {
      if (text.length > MAX_LENGTH) return undefined
      const [nonce, ...sealed] = (SEALED.exec(text) ?? []).slice(1).map((part) => Buffer.from(part, 'base64url'))
      const plaintext = nonce && decrypt({ key, nonce, aad: AAD }, Buffer.concat(sealed))
      return plaintext && (JSON.parse(plaintext.toString('utf8')) as Record<string, unknown>)
    },
    mac: (purpose, text) => createHmac('sha256', macKey(purpose)).update(text).digest('base64url'),
  }
}
