// DPoP proofs (RFC 9449): the checks as a list, the nonces, and what a proof binds.
import type { App } from '../context.ts'
import { decodeJws, isAlg, isSoundKey, type Jws, thumbprint } from '../crypto/jws.ts'
import type { Request } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { equalSecrets } from '../lib/id.ts'
import { isObject } from '../lib/json.ts'
import { Lru } from '../lib/lru.ts'
import { normalisedUrl } from '../lib/url.ts'
import type { Client } from '../records/client.ts'
import type { Alg, Jwk } from '../records/jwk.ts'
import type { SingleUse } from '../records/single_use.ts'
import { useOnce } from './single_use.ts'

/** Algorithms of proofs, in metadata order. */
export const DPOP_ALGS: readonly Alg[] = ['ES256', 'RS256', 'PS256']

/** A proof that passed every check. */
export interface Proof {
  /** Thumbprint of its key (RFC 7638). */
  jkt: string
  /** To be committed with what is issued. */
  use: SingleUse
}

const MAX_PROOF = 8192
const MAX_JTI = 512
/** Clocks of honest clients may run ahead a little. */
const FUTURE_SKEW = 10
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

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
  request: Request
  url: string
  now: number
}

/** Refusals that need no cryptography, in order: the name of the reason, and what is wrong when it holds. */
const CHECKS: readonly [reason: string, isBad: (c: Context) => boolean, say: string][] = [
  ['htm', ({ jws, request }) => jws.payload['htm'] !== request.method, 'htm is not the method of this request'],
  ['htu', ({ jws, url }) => !isUrl(jws.payload['htu'], url), 'htu is not the URL of this endpoint'],
  ['jti', ({ jws }) => !isJti(jws.payload['jti']), 'jti is missing or too long'],
  ['iat', (c) => !isRecent(c), 'iat is missing or outside the accepted time'],
  ['exp', ({ jws, now }) => !isAfter(jws.payload['exp'], now), 'the proof has expired'],
  ['nbf', ({ jws, now }) => !isBefore(jws.payload['nbf'], now), 'the proof is not valid yet'],
]

const isUrl = (htu: unknown, url: string) =>
  htu === url || (typeof htu === 'string' && htu.length <= 2048 && normalisedUrl(htu) === url)
const isJti = (jti: unknown): jti is string => typeof jti === 'string' && jti !== '' && jti.length <= MAX_JTI
const isInteger = (value: unknown): value is number => Number.isInteger(value)
const isRecent = ({ jws, app, now }: Context) => {
  const { iat } = jws.payload
  return isInteger(iat) && iat >= now - app.config.dpop.proof_lifetime && iat <= now + FUTURE_SKEW
}
const isAfter = (exp: unknown, now: number) => exp === undefined || (typeof exp === 'number' && exp > now)
const isBefore = (nbf: unknown, now: number) =>
  nbf === undefined || (typeof nbf === 'number' && nbf <= now + FUTURE_SKEW)

/** The few URLs of our own that proofs are for, normalised. */
const ownUrls = new Lru<string>(100)

const refuse = (reason: string, say: string) => new OAuthError('invalid_dpop_proof', say, { reason })

/** The proof of a request; undefined when there is none, or DPoP is off. Throws invalid_dpop_proof or use_dpop_nonce. */
export async function verifyProof(app: App, request: Request): Promise<Proof | undefined> {
  const { dpop } = request.headers
  if (dpop === undefined || !app.config.dpop.enabled) return undefined
  try {
    const proof = await checkProof(app, request, dpop)
    app.metrics.count('ext_dpop_proofs_validated_total')
    return proof
  } catch (error) {
    if (error instanceof OAuthError) app.metrics.count('ext_dpop_proofs_rejected_total', { reason: error.reason })
    throw error
  }
}

async function checkProof(app: App, request: Request, text: string): Promise<Proof> {
  const now = app.clock.now()
  const { jws, jwk, alg, jkt } = decodeProof(text)
  const url = ownUrls.memo(app.config.server.issuer + request.path, (own) => normalisedUrl(own) ?? '')
  // Name by name: a spread of what was spread costs as much here as all checks together.
  const context = { jws, jwk, alg, jkt, app, request, url, now }
  for (const [reason, isBad, say] of CHECKS) if (isBad(context)) throw refuse(reason, say)
  const { input, signature } = jws
  if (!(await app.crypto.verify({ alg, jwk, thumbprint: jkt, input, signature })))
    throw refuse('signature', 'the signature does not fit the key')
  checkNonce(app, jws.payload['nonce'], now)
  // The last moment at which this proof, or another one with its jti, would be accepted.
  const expires_at = now + app.config.dpop.proof_lifetime + FUTURE_SKEW + 1
  const use = await useOnce(app, 'dpop', jkt, jws.payload['jti'] as string, expires_at)
  if (!use) throw replayedProof()
  return { jkt, use }
}

function decodeProof(text: string): Decoded {
  const jws = decodeJws(text, MAX_PROOF)
  if (!jws) throw refuse('malformed', 'the proof is not one JWT')
  const { jwk, alg, jkt } = knownKeys.get(jws.header) ?? rememberKey(jws.header)
  return { jws, jwk, alg, jkt }
}

/** A client proves one key again and again: what was read of a header holds as long as that object is remembered. */
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
  if (PRIVATE_MEMBERS.some((member) => member in jwk)) throw refuse('private_jwk', 'jwk holds a private key')
  const jkt = thumbprint(jwk as Jwk)
  if (jkt === undefined) throw refuse('jwk', 'jwk is not a public key of a supported type')
  if (!isSoundKey(alg, jwk as Jwk)) throw refuse('jwk', `jwk is not a sound key for ${alg}`)
  return { jwk: jwk as Jwk, alg, jkt }
}

// A nonce is the time it was made and a MAC over it: every instance that has session.secret can check it, and none keeps a row.
const nonceAt = (app: App, seconds: number): string => {
  const time = seconds.toString(36)
  return `${time}.${app.sealer.mac('dpop nonce', time).slice(0, 22)}`
}

/** What every answer of one second carries. */
const newest = new WeakMap<App['sealer'], { at: number; nonce: string }>()

/** A fresh nonce for the DPoP-Nonce header. */
export function newNonce(app: App): string {
  const at = app.clock.now()
  const known = newest.get(app.sealer)
  if (known?.at === at) return known.nonce
  const nonce = nonceAt(app, at)
  newest.set(app.sealer, { at, nonce })
  return nonce
}

function checkNonce(app: App, nonce: unknown, now: number): void {
  const { require_nonce, nonce_ttl } = app.config.dpop
  if (!require_nonce) return
  const refuseNonce = (reason: string) =>
    new OAuthError('use_dpop_nonce', 'the proof needs the nonce of the DPoP-Nonce header', { reason })
  if (typeof nonce !== 'string') throw refuseNonce('nonce_missing')
  const at = Number.parseInt(nonce.split('.')[0] as string, 36)
  const isYoung = at <= now && at >= now - nonce_ttl
  if (!isYoung || !equalSecrets(nonceAt(app, at), nonce)) throw refuseNonce('nonce')
}

/** The refusal of a proof that was used before. */
export const replayedProof = (): OAuthError => refuse('replay', 'the proof was used before')

/** What is bound to a key may only be used with a proof of that key (RFC 9449 §5, §10). Throws invalid_dpop_proof. */
export function checkBound(jkt: string | undefined, proof: Proof | undefined): void {
  if (jkt === undefined || proof?.jkt === jkt) return
  throw refuse(proof ? 'other_key' : 'proof_missing', 'a proof of the key that this is bound to is needed')
}

/** Clients that registered for bound tokens never get a bearer token (RFC 9449 §5.2). Throws invalid_dpop_proof. */
export function checkBinding(client: Client, proof: Proof | undefined): void {
  if (client.dpop_bound_access_tokens && !proof) throw refuse('proof_missing', 'this client must send a DPoP proof')
}
