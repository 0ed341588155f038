// Signatures of digests, as the transit engine makes them with prehashed=true; node:crypto cannot sign a given digest.
import { constants, createECDH, type KeyObject, privateEncrypt } from 'node:crypto'

/** Order of P-256. */
const N = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
/** DER of DigestInfo for SHA-256, before the digest (RFC 8017 §9.2). */
const DIGEST_INFO = Buffer.from('3031300d060960864801650304020105000420', 'hex')

/** ECDSA by P-256 over a SHA-256 digest: r and s, 32 bytes each. */
export function ecdsaOfDigest(key: KeyObject, digest: Buffer): Buffer {
  const d = toInt(Buffer.from(String(key.export({ format: 'jwk' }).d), 'base64url'))
  const once = createECDH('prime256v1')
  const r = toInt(once.generateKeys().subarray(1, 33)) % N
  const s = (inverse(toInt(once.getPrivateKey())) * (toInt(digest) + r * d)) % N
  return Buffer.concat([toBytes(r), toBytes(s)])
}

/** RSASSA-PKCS1-v1_5 over a SHA-256 digest. */
export const pkcs1OfDigest = (key: KeyObject, digest: Buffer): Buffer =>
  privateEncrypt({ key, padding: constants.RSA_PKCS1_PADDING }, Buffer.concat([DIGEST_INFO, digest]))

/** The other form of an ECDSA signature: a DER sequence. */
export function toDer(signature: Buffer): Buffer {
  const parts = [signature.subarray(0, 32), signature.subarray(32)].map((half) => {
    const bytes = Buffer.concat([Buffer.from([0]), half])
    return Buffer.concat([Buffer.from([2, bytes.length]), bytes])
  })
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([0x30, body.length]), body])
}

const toInt = (bytes: Buffer): bigint => BigInt(`0x${bytes.toString('hex')}`)
const toBytes = (value: bigint): Buffer => Buffer.from(value.toString(16).padStart(64, '0'), 'hex')

/** Inverse modulo N: N is prime. */
function inverse(value: bigint): bigint {
  let result = 1n
  for (let base = value % N, power = N - 2n; power > 0n; power >>= 1n, base = (base * base) % N)
    if (power & 1n) result = (result * base) % N
  return result
}
