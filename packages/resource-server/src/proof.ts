// Verifies DPoP proofs (RFC 9449 §4.3). A proof is made for one request, with the key of the token. It is recent, and it is used once.
import { calculateJwkThumbprint, EmbeddedJWK, type JWK, jwtVerify } from 'jose'

/** The algorithms of proofs. The authorization server accepts the same ones. */
export const PROOF_ALGORITHMS = ['ES256', 'RS256', 'PS256']
/** Seconds after which a proof is too old. */
const LIFETIME = 60
/** Maximum number of stored proofs. When all of them are still valid, further requests are refused, because a replay could not be detected. */
const MOST_PROOFS = 100_000

/** A proof is not valid. The message says why. */
export class ProofError extends Error {}
/** No further proof can be stored. */
export class ProofsFull extends Error {}

interface Bound {
  token: string
  /** The thumbprint in the token: `cnf.jkt`. */
  jkt: string
  method: string
  /** The URL of the request without query and fragment. */
  url: string
}

/** Verifies proofs, and stores them until they are too old, to detect replays. */
export class Proofs {
  private readonly seen = new Map<string, number>()
  private readonly tolerance: number

  constructor(clockTolerance: number) {
    this.tolerance = clockTolerance
  }

  /** Verifies a proof. Throws ProofError or ProofsFull. */
  async verify(proof: string, { token, jkt, method, url }: Bound): Promise<void> {
    const { payload, protectedHeader } = await jwtVerify(proof, EmbeddedJWK, {
      typ: 'dpop+jwt',
      algorithms: PROOF_ALGORITHMS,
      maxTokenAge: LIFETIME,
      clockTolerance: this.tolerance,
      requiredClaims: ['jti', 'htm', 'htu', 'ath'],
    }).catch((error: Error) => {
      throw new ProofError(`the proof is not valid: ${error.message}`)
    })
    const [ath, thumbprint] = await Promise.all([sha256(token), calculateJwkThumbprint(protectedHeader.jwk as JWK)])
    if (thumbprint !== jkt) throw new ProofError('the proof is made with another key than that of the token')
    if (payload['ath'] !== ath) throw new ProofError('the proof is made for another token')
    if (payload['htm'] !== method) throw new ProofError('the proof is made for another method')
    if (withoutQuery(payload['htu']) !== url) throw new ProofError('the proof is made for another URL')
    this.remember(`${thumbprint}.${await sha256(String(payload.jti))}`, Number(payload.iat) + LIFETIME + this.tolerance)
  }

  private remember(id: string, until: number): void {
    const now = Date.now() / 1000
    if (this.seen.size >= MOST_PROOFS) for (const [old, end] of this.seen) if (end < now) this.seen.delete(old)
    if ((this.seen.get(id) ?? 0) >= now) throw new ProofError('the proof was used before')
    if (this.seen.size >= MOST_PROOFS) throw new ProofsFull('no further proof can be remembered')
    this.seen.set(id, until)
  }
}

function withoutQuery(htu: unknown): string | undefined {
  if (typeof htu !== 'string' || !URL.canParse(htu)) return undefined
  const { origin, pathname } = new URL(htu)
  return origin + pathname
}

async function sha256(text: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
  return btoa(String.fromCharCode(...digest))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=+$/, '')
}
