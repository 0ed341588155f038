// Public keys (RFC 7517) and signature algorithms.

/** Algorithms of the signatures of this service, and of signatures that clients send. */
export type Alg = 'ES256' | 'RS256' | 'PS256'

/** Algorithms of the signatures of an upstream provider. */
export type UpstreamAlg = Alg | `${'ES' | 'RS' | 'PS'}${'384' | '512'}`

/** Algorithms of the assertions that authenticate a client. */
export type ClientAlg = Alg | 'EdDSA'

/** The newer name of EdDSA with this curve, which keys and signatures may have (RFC 9864). */
export const ED25519 = 'Ed25519'

/** Every algorithm whose signatures can be verified. */
export type VerifiedAlg = UpstreamAlg | ClientAlg

/** The kind of key of each algorithm (RFC 7518 §3.1, RFC 8037 §3.1). Of the curves of RFC 8037 only Ed25519, the one that every library has. */
export const KEY_KINDS: Readonly<Record<VerifiedAlg, { kty: 'EC' | 'RSA' | 'OKP'; crv?: string }>> = {
  ES256: { kty: 'EC', crv: 'P-256' },
  ES384: { kty: 'EC', crv: 'P-384' },
  ES512: { kty: 'EC', crv: 'P-521' },
  RS256: { kty: 'RSA' },
  RS384: { kty: 'RSA' },
  RS512: { kty: 'RSA' },
  PS256: { kty: 'RSA' },
  PS384: { kty: 'RSA' },
  PS512: { kty: 'RSA' },
  EdDSA: { kty: 'OKP', crv: ED25519 },
}

/** The members of private and symmetric keys (RFC 7518 §6). A key that was sent with one of them is no longer secret. */
export const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

/** A public JSON Web Key. */
export type Jwk = Readonly<Record<string, unknown>> & { kty: string }

/** The times at which a signing key was created, was replaced, and may be removed. */
export interface KeyTimes {
  kid: string
  alg: Alg
  created_at: number
  /** Published, but not used for signatures yet. */
  next?: true | undefined
  /** When another key became the current key. */
  retired_at?: number
  /** When the last token that it signed has expired. The key is published until then. */
  remove_at?: number
}
