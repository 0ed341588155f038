// Verifies DPoP proofs (RFC 9449 §4.3). A proof is made for one request, with the key of the token. It is recent, and it is used once.
import { calculateJwkThumbprint, EmbeddedJWK, type JWK, jwtVerify } from 'jose'
import { ProofUsed, SeenProofs } from './seen_proofs.ts'

/** The algorithms of proofs. The authorization server accepts the same ones. */
export const PROOF_ALGORITHMS = ['ES256', 'RS256', 'PS256']
/** Seconds after which a proof is too old. */
const LIFETIME = 60

/** A proof is not valid. The message says why. It is always one of the constants of this file. */
export class ProofError extends Error {}

interface Bound {
  token: string
  /** The subject of the token. */
  subject: string
  /** The thumbprint in the token: `cnf.jkt`. */
  jkt: string
  method: string
  /** The URL of the request without query and fragment. */
  url: string
}

/** Verifies proofs, and stores them until they are too old, to detect replays. */
export class Proofs {
  private readonly seen = new SeenProofs()
  private readonly tolerance: number

  constructor(clockTolerance: number) {
    this.tolerance = clockTolerance
  }

  /** Verifies a proof. Throws ProofError or ProofsFull. */
  async verify(proof: string, { token, subject, jkt, method, url }: Bound): Promise<void> {
    const { payload, protectedHeader } = await jwtVerify(proof, EmbeddedJWK, {
      typ: 'dpop+jwt',
      algorithms: PROOF_ALGORITHMS,
      maxTokenAge: LIFETIME,
      clockTolerance: this.tolerance,
      requiredClaims: ['jti', 'htm', 'htu', 'ath'],
    }).catch((cause: unknown) => {
      // The message of the library repeats parts of the proof, so it is not shown.
      throw new ProofError('the proof is malformed, expired, or has a wrong signature', { cause })
    })
    const { jti } = payload
    if (typeof jti !== 'string' || jti === '') throw new ProofError('the jti of the proof is not a text')
    const [ath, thumbprint] = await Promise.all([sha256(token), calculateJwkThumbprint(protectedHeader.jwk as JWK)])
    if (thumbprint !== jkt) throw new ProofError('the proof is made with another key than that of the token')
    if (payload['ath'] !== ath) throw new ProofError('the proof is made for another token')
    if (payload['htm'] !== method) throw new ProofError('the proof is made for another method')
    if (withoutQuery(payload['htu']) !== url) throw new ProofError('the proof is made for another URL')
    const until = Number(payload.iat) + LIFETIME + this.tolerance
    this.remember(`${thumbprint}.${await sha256(jti)}`, { subject, until })
  }

  private remember(id: string, seen: { subject: string; until: number }): void {
    try {
      this.seen.add(id, seen, Date.now() / 1000)
    } catch (error) {
      throw error instanceof ProofUsed ? new ProofError(error.message) : error
    }
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
