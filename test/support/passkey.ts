// A passkey in software (WebAuthn §6), which can do what no honest authenticator does.
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isoCBOR } from '@simplewebauthn/server/helpers'

const base64url = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')
const sha256 = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest()
const PRESENT = 0x01
const VERIFIED = 0x04
const HAS_KEY = 0x40

/** What the answer states. What is not given is as it should be. */
interface Stated {
  challenge: string
  origin: string
  rpId: string
  type?: 'webauthn.create' | 'webauthn.get'
  /** Whether the authenticator has verified its user. */
  verified?: boolean
  /** The counter. By default it rises. */
  counter?: number
  /** The key that signs. */
  key?: KeyObject
  user?: string
}

export class Passkey {
  readonly id = randomBytes(32)
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  #counter = 0

  /** The answer of navigator.credentials.create(), as JSON. */
  created(stated: Stated): string {
    const { x = '', y = '' } = this.#keys.publicKey.export({ format: 'jwk' })
    const [keyX, keyY] = [Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]
    const cose = isoCBOR.encode(
      new Map<number, number | Uint8Array>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, keyX],
        [-3, keyY],
      ]) as never,
    )
    const length = Buffer.from([0, this.id.length])
    const authData = Buffer.concat([this.#authData(stated, HAS_KEY), Buffer.alloc(16), length, this.id, cose])
    const attestation = new Map<string, unknown>([
      ['fmt', 'none'],
      ['attStmt', new Map()],
      ['authData', authData],
    ])
    return this.#answer({
      clientDataJSON: base64url(clientData('webauthn.create', stated)),
      attestationObject: base64url(isoCBOR.encode(attestation as never)),
      transports: ['internal'],
    })
  }

  /** The answer of navigator.credentials.get(), as JSON. */
  got(stated: Stated): string {
    const client = clientData('webauthn.get', stated)
    const authData = this.#authData(stated, 0)
    const signature = sign('sha256', Buffer.concat([authData, sha256(client)]), stated.key ?? this.#keys.privateKey)
    return this.#answer({
      clientDataJSON: base64url(client),
      authenticatorData: base64url(authData),
      signature: base64url(signature),
      userHandle: stated.user,
    })
  }

  #answer(response: object): string {
    const id = base64url(this.id)
    return JSON.stringify({ id, rawId: id, type: 'public-key', clientExtensionResults: {}, response })
  }

  #authData({ rpId, verified = true, counter = ++this.#counter }: Stated, flags: number): Buffer {
    const head = Buffer.alloc(5)
    head[0] = PRESENT | (verified ? VERIFIED : 0) | flags
    head.writeUInt32BE(counter, 1)
    return Buffer.concat([sha256(rpId), head])
  }
}

const clientData = (type: string, { challenge, origin, ...stated }: Stated): Buffer =>
  Buffer.from(JSON.stringify({ type: stated.type ?? type, challenge, origin, crossOrigin: false }))
