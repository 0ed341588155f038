// Works around a deadlock of Node 20: exporting a freshly generated key as JWK holds the lock of the key while it allocates;
// a collection at that moment frees the job that generated it, which waits for the same lock. Tests make many keys, so they
// export copies, which no job belongs to.
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'

const SEED =
  '{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0","d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"}'
const seed = createPrivateKey({ key: JSON.parse(SEED), format: 'jwk' })

type Export = (this: KeyObject, options?: { format?: string }) => unknown
const wrap = (example: KeyObject, copy: (der: Buffer) => KeyObject, type: 'spki' | 'pkcs8') => {
  const prototype = Object.getPrototypeOf(example) as { export: Export }
  const original = prototype.export
  prototype.export = function (options) {
    if (options?.format !== 'jwk') return original.call(this, options)
    return original.call(copy(original.call(this, { format: 'der', type } as { format: string }) as Buffer), options)
  }
}
wrap(seed, (key) => createPrivateKey({ key, format: 'der', type: 'pkcs8' }), 'pkcs8')
wrap(createPublicKey(seed), (key) => createPublicKey({ key, format: 'der', type: 'spki' }), 'spki')

const { subtle } = globalThis.crypto
const exportKey = subtle.exportKey.bind(subtle) as (format: string, key: CryptoKey) => Promise<ArrayBuffer | JsonWebKey>
type CryptoKey = Parameters<typeof subtle.exportKey>[1]
type JsonWebKey = object
subtle.exportKey = (async (format: string, key: CryptoKey) => {
  if (format !== 'jwk' || key.type === 'secret') return exportKey(format, key)
  const encoding = key.type === 'public' ? 'spki' : 'pkcs8'
  const der = (await exportKey(encoding, key)) as ArrayBuffer
  return exportKey('jwk', await subtle.importKey(encoding, der, key.algorithm as { name: string }, true, key.usages))
}) as typeof subtle.exportKey
