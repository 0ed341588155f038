// Makes DPoP proofs (RFC 9449 §4.2): valid ones with an independent library, and invalid ones byte by byte.
import { createHmac, KeyObject, sign } from 'node:crypto'
import { CompactSign, type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose'
import { newId } from '../../src/lib/id.ts'
import type { Alg } from '../../src/records/jwk.ts'
import { type Answer, expectRefused } from './flow.ts'
import type { TestService } from './service.ts'

export interface ProofKey {
  alg: string
  privateKey: CryptoKey
  /** The public key. */
  jwk: JWK
  jkt: string
}

/** A key for proofs; jose computes its thumbprint. */
export async function proofKey(alg: string = 'ES256', modulusLength = 2048): Promise<ProofKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true, modulusLength })
  const jwk = await exportJWK(publicKey)
  return { alg, privateKey, jwk, jkt: await calculateJwkThumbprint(jwk) }
}

export interface Changes {
  /** Members of the header to replace, or to leave out when undefined. */
  header?: Record<string, unknown>
  /** Claims to replace, or to leave out when undefined. */
  claims?: Record<string, unknown>
}

type Served = Pick<TestService, 'app'>

/** The URL of the token endpoint in the metadata. */
const tokenEndpoint = ({ app }: Served): string => `${app.config.server.issuer}/oauth/token`

/** Header and claims of a valid proof for the token endpoint, with changes. */
export const proofParts = (service: Served, key: ProofKey, changes: Changes = {}) => ({
  header: { typ: 'dpop+jwt', alg: key.alg, jwk: key.jwk, ...changes.header },
  claims: {
    htm: 'POST',
    htu: tokenEndpoint(service),
    jti: newId(),
    iat: service.app.clock.now(),
    ...changes.claims,
  },
})

/** A proof for the token endpoint, signed by jose. */
export function proofOf(service: Served, key: ProofKey, changes: Changes = {}): Promise<string> {
  const { header, claims } = proofParts(service, key, changes)
  return new CompactSign(Buffer.from(JSON.stringify(claims)))
    .setProtectedHeader(header as { alg: string })
    .sign(key.privateKey)
}

/** The same as a header of a request. */
export const dpop = async (...args: Parameters<typeof proofOf>) => ({ dpop: await proofOf(...args) })

export const base64url = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

/** A compact JWS of any header and any payload (JSON text when it is a string); `signature` gets what is signed. */
export function forge(header: unknown, payload: unknown, signature: (input: string) => Buffer | string): string {
  const input = `${base64url(header)}.${base64url(payload)}`
  const made = signature(input)
  return `${input}.${typeof made === 'string' ? made : made.toString('base64url')}`
}

/** Signs like JOSE does, also with keys that an algorithm must not be used with. */
export const signedBy =
  ({ privateKey }: { privateKey: CryptoKey | KeyObject }, dsaEncoding: 'ieee-p1363' | 'der' = 'ieee-p1363') =>
  (input: string): Buffer => {
    const key = privateKey instanceof KeyObject ? privateKey : KeyObject.from(privateKey)
    return sign('sha256', Buffer.from(input), { key, dsaEncoding })
  }

/** The signature of HS256 with some bytes as the key. */
export const macOf =
  (secret: string | Buffer) =>
  (input: string): Buffer =>
    createHmac('sha256', secret).update(input).digest()

/** Checks that the proof was refused and no token was issued. */
export const expectProofRefused = (answer: Answer, error = 'invalid_dpop_proof'): void => expectRefused(answer, error)

/** Algorithms of proofs that a service accepts. */
export const PROOF_ALGS: readonly Alg[] = ['ES256', 'RS256', 'PS256']
