// DPoP proofs (RFC 9449): validation, nonces, and the checks of key bindings.
import type { App } from '../../context.ts'
import { decodeJws, isAlg, isSoundKey, type Jws, thumbprint } from '../../crypto/jws.ts'
import { isTime } from '../../crypto/jwt_times.ts'
import type { RequestHead } from '../../http/message.ts'
import { OAuthError } from '../../lib/error.ts'
import { digest, equalSecrets } from '../../lib/id.ts'
import { isObject } from '../../lib/json.ts'
import { Lru } from '../../lib/lru.ts'
import { MB } from '../../lib/memory.ts'
import type { Reason } from '../../lib/reasons/index.ts'
import { normalisedUrl } from '../../lib/url.ts'
import type { Client } from '../../records/client.ts'
import { type Alg, type Jwk, PRIVATE_MEMBERS } from '../../records/jwk.ts'
import type { SingleUse } from '../../records/single_use.ts'
import { commitUse, useOnce } from './single_use.ts'

/** Algorithms of proofs, in metadata order. */
export const DPOP_ALGS: readonly Alg[] = ['ES256', 'RS256', 'PS256']

/** A valid proof. */
export interface Proof {
  /** Thumbprint of its key (RFC 7638). */
  jkt: string
  /** The record of its use, to be committed with the token. */
  use: SingleUse
}

const MAX_PROOF = 8192
const MAX_JTI = 512

/** The key of a proof. */
interface ProofKey {
  jwk: Jwk
  alg: Alg
  jkt: string
}
interface Decoded extends ProofKey {
  jws: Jws
}
interface Context extends Decoded {
  app: App
  request: RequestHead
  url: string
  now: number
}

/** The checks that need no cryptography, in order: the reason of the refusal, the condition, and the error description. */
const CHECKS: readonly [reason: Reason, isInvalid: (c: Context) => boolean, description: string][] = [
  ['htm', ({ jws, request }) => jws.payload['htm'] !== request.method, 'htm is not the method of this request'],
  ['htu', ({ jws, url }) => !isUrl(jws.payload['htu'], url), 'htu is not the URL of this endpoint'],
  ['jti', ({ jws }) => !isJti(jws.payload['jti']), 'jti is missing or too long'],
  ['iat', (c) => !isRecent(c), 'iat is missing or outside the accepted time'],
  ['exp', ({ jws, now }) => !isAfter(jws.payload['exp'], now), 'the proof has expired'],
  ['nbf', (c) => !isBegun(c), 'the proof is not valid yet'],
]

const isUrl = (htu: unknown, url: string) =>
  htu === url || (typeof htu === 'string' && htu.length <= 2048 && normalisedUrl(htu) === url)
const isJti = (jti: unknown): jti is string => typeof jti === 'string' && jti !== '' && jti.length <= MAX_JTI
/** Times may have fractions of a second (RFC 7519 §2). */
const isRecent = ({ jws, app, now }: Context) => {
  const { iat } = jws.payload
  const { proof_lifetime, clock_skew } = app.config.dpop
  return isTime(iat) && iat >= now - proof_lifetime && iat <= now + clock_skew
}
const isAfter = (exp: unknown, now: number) => exp === undefined || (isTime(exp) && exp > now)
const isBegun = ({ jws, app, now }: Context) => {
  const { nbf } = jws.payload
  return nbf === undefined || (isTime(nbf) && nbf <= now + app.config.dpop.clock_skew)
}

/** Normalised URLs of the endpoints of this service that accept proofs. */
const ownUrls = new Lru<string>({ max: 100, bytes: MB / 8 })

const refuse = (reason: Reason, description: string) => new OAuthError('invalid_dpop_proof', description, { reason })

/** The proof of a request; undefined when there is none, or DPoP is disabled. With an access token the proof must contain its hash. Throws invalid_dpop_proof or use_dpop_nonce. */
export async function verifyProof(
  app: App,
  request: RequestHead,
  access_token?: string,
  url?: string,
): Promise<Proof | undefined> {
  const { dpop } = request.headers
  if (dpop === undefined || !app.config.dpop.enabled) return undefined
  try {
    const proof = await checkProof(app, request, dpop, access_token, url)
    app.metrics.count('ext_dpop_proofs_validated_total')
    return proof
  } catch (error) {
    if (error instanceof OAuthError) app.metrics.count('ext_dpop_proofs_rejected_total', { reason: error.reason })
    throw error
  }
}

async function checkProof(
  app: App,
  request: RequestHead,
  text: string,
  access_token?: string,
  at = app.config.server.issuer + request.path,
): Promise<Proof> {
  const now = app.clock.now()
  const { jws, jwk, alg, jkt } = decodeProof(text)
  const url = ownUrls.memo(at, (own) => normalisedUrl(own) ?? '')
  // Every member is named, because spreading an object here costs as much time as all the checks together.
  const context = { jws, jwk, alg, jkt, app, request, url, now }
  for (const [reason, isInvalid, description] of CHECKS) if (isInvalid(context)) throw refuse(reason, description)
  if (access_token !== undefined && jws.payload['ath'] !== digest(access_token))
    throw refuse('ath', 'ath is not the hash of the access token')
  const { input, signature } = jws
  if (!(await app.crypto.verify({ alg, jwk, thumbprint: jkt, input, signature })))
    throw refuse('signature', 'the signature does not match the key')
  checkNonce(app, jws.payload['nonce'], now)
  // After this time a proof with the same jti and iat would be too old to be accepted.
  const { proof_lifetime, clock_skew } = app.config.dpop
  const expires_at = now + proof_lifetime + clock_skew + 1
  const use = await useOnce(app, 'dpop', jkt, jws.payload['jti'] as string, expires_at)
  if (!use) throw replayedProof()
  return { jkt, use }
}

/** Verifies the proof of a request with an access token (RFC 9449 §7.1), and records its use at once. `url` is that of the request, where it is not below the issuer. Throws as verifyProof(). */
export async function useProof(
  app: App,
  request: RequestHead,
  access_token: string,
  url?: string,
): Promise<Proof | undefined> {
  const proof = await verifyProof(app, request, access_token, url)
  if (proof && !(await commitUse(app, proof.use))) throw replayedProof()
  return proof
}

function decodeProof(text: string): Decoded {
  const jws = decodeJws(text, MAX_PROOF)
  if (!jws) throw refuse('malformed', 'the proof is not a JWT')
  const { jwk, alg, jkt } = knownKeys.get(jws.header) ?? rememberKey(jws.header)
  return { jws, jwk, alg, jkt }
}

/** The key of each decoded header. Clients send the same header many times, and decodeJws() returns the same object for it. */
const knownKeys = new WeakMap<Jws['header'], ProofKey>()

function rememberKey(header: Jws['header']): ProofKey {
  const key = readKey(header)
  knownKeys.set(header, key)
  return key
}

function readKey({ typ, alg, jwk }: Jws['header']): ProofKey {
  if (typ !== 'dpop+jwt') throw refuse('typ', 'typ must be dpop+jwt')
  if (!isAlg(alg) || !DPOP_ALGS.includes(alg)) throw refuse('alg', `alg must be one of ${DPOP_ALGS.join(', ')}`)
  if (!isObject(jwk)) throw refuse('jwk', 'jwk is missing')
  if (PRIVATE_MEMBERS.some((member) => member in jwk)) throw refuse('private_jwk', 'jwk contains a private key')
  const jkt = thumbprint(jwk as Jwk)
  if (jkt === undefined) throw refuse('jwk', 'jwk is not a public key of a supported type')
  if (!isSoundKey(alg, jwk as Jwk)) throw refuse('jwk', `jwk is not a secure key for ${alg}`)
  return { jwk: jwk as Jwk, alg, jkt }
}

// A nonce is a time and its MAC. Every instance with the same session.secret can check it, and no instance stores it.
const MAC_LENGTH = 22
const nonceAt = (app: App, seconds: number): string => {
  const time = seconds.toString(36)
  return `${time}.${app.sealer.mac('dpop nonce', time).slice(0, MAC_LENGTH)}`
}

/** Whether a nonce of this time was made with one of the session secrets. */
function isNonceAt(app: App, seconds: number, nonce: string): boolean {
  const time = seconds.toString(36)
  return app.sealer.macs('dpop nonce', time).some((mac) => equalSecrets(`${time}.${mac.slice(0, MAC_LENGTH)}`, nonce))
}

/** The nonce of the current second, which every response in that second has. */
const newest = new WeakMap<App['sealer'], { at: number; nonce: string }>()

/** A fresh nonce for the DPoP-Nonce header. */
export function newNonce(app: App): string {
  const at = app.clock.now()
  const current = newest.get(app.sealer)
  if (current?.at === at) return current.nonce
  const nonce = nonceAt(app, at)
  newest.set(app.sealer, { at, nonce })
  return nonce
}

function checkNonce(app: App, nonce: unknown, now: number): void {
  const { require_nonce, nonce_ttl } = app.config.dpop
  if (!require_nonce) return
  const refuseNonce = (reason: Reason) =>
    new OAuthError('use_dpop_nonce', 'the proof needs the nonce of the DPoP-Nonce header', { reason })
  if (typeof nonce !== 'string') throw refuseNonce('nonce_missing')
  const at = Number.parseInt(nonce.split('.')[0] as string, 36)
  const isRecentNonce = at <= now && at >= now - nonce_ttl
  if (!isRecentNonce || !isNonceAt(app, at, nonce)) throw refuseNonce('nonce')
}

/** The refusal of a proof that was already used. */
export const replayedProof = (): OAuthError => refuse('replay', 'the proof was used before')

/** A token or code that is bound to a key requires a proof of that key (RFC 9449 §5, §10). Throws invalid_dpop_proof. */
export function checkBound(jkt: string | undefined, proof: Proof | undefined): void {
  if (jkt === undefined || proof?.jkt === jkt) return
  throw refuse(proof ? 'other_key' : 'proof_missing', 'a DPoP proof of the bound key is required')
}

/** Clients that registered for bound tokens never receive a bearer token (RFC 9449 §5.2). Throws invalid_dpop_proof. */
export function checkBinding(client: Client, proof: Proof | undefined): void {
  if (client.dpop_bound_access_tokens && !proof) throw refuse('proof_missing', 'this client must send a DPoP proof')
}
