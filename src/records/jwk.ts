// Public keys (RFC 7517) and the algorithms that signatures may have.

/** Algorithms of our own signatures, and of signatures that clients send. */
export type Alg = 'ES256' | 'RS256' | 'PS256'

/** Algorithms of an upstream provider. */
export type UpstreamAlg = Alg | `${'ES' | 'RS' | 'PS'}${'384' | '512'}`

/** A public JSON Web Key. */
export type Jwk = Readonly<Record<string, unknown>> & { kty: string }
