// Values that travel through a browser: encrypted and authenticated (JWE, A256GCM), or bound by a MAC. Every purpose has
// a key of its own, derived from session.secret.
import { createHmac, hkdfSync } from 'node:crypto'
import { CompactEncrypt, compactDecrypt } from 'jose'

export interface Sealer {
  /** An encrypted and authenticated text of a value. */
  seal(value: object): Promise<string>
  /** The value, or undefined when the text was not made by seal() with this secret. */
  open(text: string): Promise<Record<string, unknown> | undefined>
  /** A MAC over a text for one purpose, as base64url. */
  mac(purpose: string, text: string): string
}

/** What browsers keep of a cookie. */
const MAX_LENGTH = 4096

/** Derives the keys of all purposes from a secret. */
export function createSealer(secret: string): Sealer {
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', secret, 'service', purpose, 32))
  const sealing = derive('session cookie')
  const macs = new Map<string, Buffer>()
  const macKey = (purpose: string) => {
    const key = macs.get(purpose) ?? derive(`mac ${purpose}`)
    macs.set(purpose, key)
    return key
  }
  return {
    seal: (value) =>
      new CompactEncrypt(Buffer.from(JSON.stringify(value)))
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .encrypt(sealing),
    async open(text) {
      if (text.length > MAX_LENGTH) return undefined
      try {
        const { plaintext } = await compactDecrypt(text, sealing, {
          keyManagementAlgorithms: ['dir'],
          contentEncryptionAlgorithms: ['A256GCM'],
        })
        return JSON.parse(Buffer.from(plaintext).toString('utf8')) as Record<string, unknown>
      } catch {
        return undefined
      }
    },
    mac: (purpose, text) => createHmac('sha256', macKey(purpose)).update(text).digest('base64url'),
  }
}
