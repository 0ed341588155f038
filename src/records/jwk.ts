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

/** A public JSON Web Key. */
export type Jwk = Readonly<Record<string, unknown>> & { kty: string }
