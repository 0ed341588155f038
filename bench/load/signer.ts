// Signatures of other parties: DPoP proofs and assertions of clients, and assertions of an identity provider. Each can be used once.
import { createPrivateKey, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { headerSegment, signJws } from '../../src/crypto/jws.ts'
import type { Jwk } from '../../src/records/jwk.ts'

/** A DPoP key of a client, with the header of its proofs. */
export interface ProofKey {
  key: KeyObject
  header: string
}

/** A private key, for the process that signs with it. */
export interface SignerKey {
  kid: string
  pem: string
}

/** An identity provider. */
export interface BenchIdp extends SignerKey {
  issuer: string
  jwks_uri: string
}

/** Lifetime of an assertion in seconds: the default maximum of the service for those of identity providers. */
const ASSERTION_LIFE = 300
const COORDINATE_BYTES = 32
const now = () => Math.floor(Date.now() / 1000)

/**
 * A key pair, and the public key as a JWK, which is created from the DER form. In Node 20, exporting a new key pair as a JWK can block
 * forever when the garbage collector runs at the same time: for about one of 30,000 keys.
 */
export function newKeyPair(): { privateKey: KeyObject; publicKey: KeyObject; jwk: Jwk } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const point = publicKey.export({ type: 'spki', format: 'der' }).subarray(-2 * COORDINATE_BYTES)
  const [x, y] = [point.subarray(0, COORDINATE_BYTES), point.subarray(COORDINATE_BYTES)]
  const jwk = { kty: 'EC', crv: 'P-256', x: x.toString('base64url'), y: y.toString('base64url') }
  return { privateKey, publicKey, jwk }
}

export const newProofKeys = (count: number): ProofKey[] =>
  Array.from({ length: count }, () => {
    const { privateKey, jwk } = newKeyPair()
    const header = { typ: 'dpop+jwt', alg: 'ES256', jwk }
    return { key: privateKey, header: Buffer.from(JSON.stringify(header)).toString('base64url') }
  })

/** A new proof for a POST to `htu` (RFC 9449 §4.2). Servers accept it for a minute. */
export const newProof = ({ key, header }: ProofKey, htu: string): string =>
  signJws('ES256', key, header, JSON.stringify({ jti: randomUUID(), htm: 'POST', htu, iat: now() }))

/** A new key for ES256, and its public key as a JWK. */
export function newSignerKey(): SignerKey & { jwk: Jwk } {
  const { privateKey, jwk } = newKeyPair()
  const kid = randomUUID()
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  return { kid, pem, jwk: { ...jwk, kid, alg: 'ES256', use: 'sig' } }
}

/** Starts an identity provider: a JWK set on loopback. It does not keep this process alive. */
export async function startIdp(): Promise<BenchIdp> {
  const { kid, pem, jwk } = newSignerKey()
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/jwk-set+json' })
    response.end(JSON.stringify({ keys: [jwk] }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  const { port } = server.address() as AddressInfo
  return {
    issuer: 'https://idp.example.com',
    jwks_uri: `http://127.0.0.1:${port}/jwks`,
    kid,
    pem,
  }
}

/** Returns a function that creates assertions of a type with some claims. Their id and times are added. */
export function assertionsOf({ kid, pem }: SignerKey, typ: string): (claims: Record<string, string>) => string {
  const key = createPrivateKey(pem)
  const header = headerSegment(typ, 'ES256', kid)
  return (claims) => {
    const iat = now()
    const payload = { ...claims, jti: randomUUID(), iat, exp: iat + ASSERTION_LIFE }
    return signJws('ES256', key, header, JSON.stringify(payload))
  }
}
