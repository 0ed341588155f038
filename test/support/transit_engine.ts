// The transit engine of Vault and OpenBao, written from its API documentation: real keys, versions, minimum versions, batches.
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { ecdsaOfDigest, pkcs1OfDigest, toDer } from './sign_digest.ts'

type Body = Record<string, unknown>
/** An answer of the API: `data`, or `errors`. */
export interface Outcome {
  status: number
  data?: object
  errors?: string[]
}
interface KeyVersion {
  private?: KeyObject
  secret?: Buffer
  created_at: number
}
export interface EngineKey {
  type: string
  versions: Map<number, KeyVersion>
  min_decryption_version: number
  min_encryption_version: number
  latest: number
}

const refused = (...errors: string[]): Outcome => ({ status: 400, errors })
const ok = (data: object): Outcome => ({ status: 200, data })

/** A mount of the engine. `now` gives epoch seconds. */
export class TransitEngine {
  readonly keys = new Map<string, EngineKey>()
  /** Batches of sign calls, by their size. */
  readonly batches: number[] = []
  /** Errors of the next items of a batch. */
  readonly itemErrors: string[] = []
  /** Vault before 1.13 knows no associated_data, and ignores it. */
  ignoresAssociatedData = false
  private readonly now: () => number

  constructor(now: () => number) {
    this.now = now
  }

  /** Runs a call: `keys/NAME`, `sign/NAME`, … below the mount. */
  handle(method: string, path: string, body: Body): Outcome {
    const [area, name = '', action = ''] = path.split('/')
    const key = this.keys.get(name)
    if (area === 'keys' && method === 'GET') return key ? ok(this.shown(name, key)) : { status: 404, errors: [] }
    if (method !== 'POST') return { status: 405, errors: ['unsupported operation'] }
    if (area === 'keys' && action === '') return this.create(name, body)
    if (!key) return refused('encryption key not found')
    if (area === 'keys' && action === 'rotate') return this.rotate(name, key)
    if (area === 'keys' && action === 'config') return this.configure(name, key, body)
    if (area === 'sign') return this.sign(key, action, body)
    if (area === 'encrypt') return this.encrypt(key, body)
    if (area === 'decrypt') return this.decrypt(key, body)
    return { status: 404, errors: ['unsupported path'] }
  }

  private create(name: string, { type = 'aes256-gcm96' }: Body): Outcome {
    const found = this.keys.get(name)
    if (found) return ok(this.shown(name, found))
    if (!TYPES.includes(String(type))) return refused(`unknown key type ${type}`)
    const key = {
      type: String(type),
      versions: new Map(),
      min_decryption_version: 1,
      min_encryption_version: 0,
      latest: 0,
    }
    this.keys.set(name, key)
    return this.rotate(name, key)
  }

  private rotate(name: string, key: EngineKey): Outcome {
    key.versions.set(++key.latest, { ...newMaterial(key.type), created_at: this.now() })
    return ok(this.shown(name, key))
  }

  private configure(name: string, key: EngineKey, body: Body): Outcome {
    const {
      min_decryption_version: d = key.min_decryption_version,
      min_encryption_version: e = key.min_encryption_version,
    } = body as Partial<EngineKey>
    if (d > key.latest) return refused(`cannot set min decryption version of ${d}, latest key version is ${key.latest}`)
    if (e > key.latest) return refused(`cannot set min encryption version of ${e}, latest key version is ${key.latest}`)
    if (e > 0 && e < d)
      return refused(
        `cannot set min encryption/decryption values; min encryption version of ${e} must be greater than or equal to min decryption version of ${d}`,
      )
    key.min_decryption_version = d
    key.min_encryption_version = e
    return ok(this.shown(name, key))
  }

  /** Versions below min_decryption_version are archived: they are neither listed nor usable. */
  private live(key: EngineKey): [number, KeyVersion][] {
    return [...key.versions].filter(([version]) => version >= key.min_decryption_version)
  }

  private shown(name: string, key: EngineKey): object {
    const entries = this.live(key).map(([version, { private: pair, created_at }]) => [
      String(version),
      pair
        ? {
            name: key.type === 'ecdsa-p256' ? 'P-256' : key.type,
            public_key: createPublicKey(pair).export({ type: 'spki', format: 'pem' }),
            certificate_chain: '',
            creation_time: new Date(created_at * 1000).toISOString(),
          }
        : created_at,
    ])
    return {
      name,
      type: key.type,
      derived: false,
      latest_version: key.latest,
      min_available_version: 0,
      min_decryption_version: key.min_decryption_version,
      min_encryption_version: key.min_encryption_version,
      supports_signing: key.type !== 'aes256-gcm96',
      keys: Object.fromEntries(entries),
    }
  }

  private versionFor(key: EngineKey, asked: unknown): number | string {
    const version = Number(asked ?? 0) || key.latest
    if (version > key.latest) return 'requested version for signing is higher than the latest key version'
    if (key.min_encryption_version > 0 && version < key.min_encryption_version)
      return 'requested version for signing is less than the minimum encryption key version'
    return this.live(key).some(([live]) => live === version) ? version : 'no such key version'
  }

  private sign(key: EngineKey, urlHash: string, body: Body): Outcome {
    if (key.type === 'aes256-gcm96') return refused(`key type ${key.type} does not support signing`)
    if ((urlHash || body['hash_algorithm'] || 'sha2-256') !== 'sha2-256') return refused('invalid hash algorithm')
    const batch = body['batch_input'] as Body[] | undefined
    if (batch?.length === 0) return refused('missing batch input to process')
    if (!batch) {
      const one = this.signOne(key, body, body)
      return 'error' in one ? refused(String(one['error'])) : ok(one)
    }
    this.batches.push(batch.length)
    // Errors of items do not change the status.
    return ok({ batch_results: batch.map((item) => this.signOne(key, item, body)) })
  }

  private signOne(key: EngineKey, { input }: Body, options: Body): Body {
    const injected = this.itemErrors.shift()
    if (injected) return { error: injected }
    if (typeof input !== 'string') return { error: 'missing input' }
    const version = this.versionFor(key, options['key_version'])
    if (typeof version === 'string') return { error: version }
    const bytes = Buffer.from(input, 'base64')
    const pair = key.versions.get(version)?.private as KeyObject
    const digest = options['prehashed'] === true ? bytes : createHash('sha256').update(bytes).digest()
    if (digest.length !== 32) return { error: 'input is not a digest of sha2-256' }
    return { signature: `vault:v${version}:${signatureText(key.type, pair, digest, options)}`, key_version: version }
  }

  private encrypt(key: EngineKey, { plaintext, associated_data = '', key_version }: Body): Outcome {
    const version = this.versionFor(key, key_version)
    if (typeof version === 'string') return refused(version)
    const nonce = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', key.versions.get(version)?.secret as Buffer, nonce)
    if (!this.ignoresAssociatedData) cipher.setAAD(Buffer.from(String(associated_data), 'base64'))
    const sealed = Buffer.concat([
      nonce,
      cipher.update(String(plaintext), 'base64'),
      cipher.final(),
      cipher.getAuthTag(),
    ])
    return ok({ ciphertext: `vault:v${version}:${sealed.toString('base64')}`, key_version: version })
  }

  private decrypt(key: EngineKey, { ciphertext, associated_data = '' }: Body): Outcome {
    const [, version = '0', text = ''] = /^vault:v(\d+):(.+)$/.exec(String(ciphertext)) ?? []
    if (Number(version) < key.min_decryption_version)
      return refused('ciphertext or signature version is disallowed by policy (too old)')
    const secret = key.versions.get(Number(version))?.secret
    if (!secret) return refused('invalid ciphertext: no such version')
    const bytes = Buffer.from(text, 'base64')
    try {
      const cipher = createDecipheriv('aes-256-gcm', secret, bytes.subarray(0, 12)).setAuthTag(bytes.subarray(-16))
      if (!this.ignoresAssociatedData) cipher.setAAD(Buffer.from(String(associated_data), 'base64'))
      const plain = Buffer.concat([cipher.update(bytes.subarray(12, -16)), cipher.final()])
      return ok({ plaintext: plain.toString('base64') })
    } catch {
      return refused('invalid ciphertext: unable to decrypt')
    }
  }
}

const TYPES = ['aes256-gcm96', 'ecdsa-p256', 'ecdsa-p384', 'rsa-2048', 'rsa-4096']

/** The defaults are asn1 for ECDSA and pss for RSA, which a JWS cannot use. */
function signatureText(type: string, pair: KeyObject, digest: Buffer, options: Body): string {
  if (type === 'ecdsa-p256') {
    const raw = ecdsaOfDigest(pair, digest)
    return options['marshaling_algorithm'] === 'jws' ? raw.toString('base64url') : toDer(raw).toString('base64')
  }
  if (options['signature_algorithm'] !== 'pkcs1v15') throw new Error('this engine does not make pss signatures')
  return pkcs1OfDigest(pair, digest).toString('base64')
}

function newMaterial(type: string): { private?: KeyObject; secret?: Buffer } {
  if (type === 'aes256-gcm96') return { secret: randomBytes(32) }
  if (type.startsWith('rsa-'))
    return { private: generateKeyPairSync('rsa', { modulusLength: Number(type.slice(4)) }).privateKey }
  return { private: generateKeyPairSync('ec', { namedCurve: type === 'ecdsa-p256' ? 'P-256' : 'P-384' }).privateKey }
}
