// The proofs that were used, until they are too old to be accepted again. They take a bounded number of bytes, and nobody can use all of them.

/** A proof is used a second time. */
export class ProofUsed extends Error {}
/** No further proof of the subject can be stored. Its replay could not be detected, so the request must be refused. */
export class ProofsFull extends Error {}

const MOST_BYTES = 64 * 1024 * 1024
/** The bytes of a proof, and of a subject without its text, with a margin. */
const [PROOF_BYTES, SUBJECT_BYTES] = [272, 160]

/** The bytes of the proofs of a subject. */
interface Share {
  bytes: number
}
interface Seen {
  /** Epoch seconds. */
  until: number
  subject: string
}

/** Used proofs, with a share for each subject of tokens. A subject can make keys as it likes, but not other subjects. */
export class SeenProofs {
  private readonly seen = new Map<string, Seen>()
  private readonly shares = new Map<string, Share>()
  private bytes = 0

  /**
   * Stores a proof. `id` is the thumbprint of its key with the hash of its `jti`. Its token has this subject. Throws ProofUsed or ProofsFull. The share of a
   * subject is the square of the fraction that is free: one subject gets 38 percent, and after n of them 1/n is still free for others.
   */
  add(id: string, { subject, until }: Seen, now: number): void {
    this.prune(now)
    if ((this.seen.get(id)?.until ?? 0) >= now) throw new ProofUsed('the proof was used before')
    this.forget(id)
    const share = this.shares.get(subject) ?? { bytes: 0 }
    const more = PROOF_BYTES + (share.bytes === 0 ? SUBJECT_BYTES + 2 * subject.length : 0)
    const free = MOST_BYTES - this.bytes - more
    if (free < 0 || share.bytes + more > free ** 2 / MOST_BYTES)
      throw new ProofsFull('the subject has made too many proofs')
    share.bytes += more
    this.bytes += more
    this.shares.set(subject, share)
    this.seen.set(id, { until, subject })
  }

  /** The entries are almost in the order of their ends, so each request examines few of them. */
  private prune(now: number): void {
    for (const [id, { until }] of this.seen) {
      if (until >= now) break
      this.forget(id)
    }
  }

  private forget(id: string): void {
    const { subject } = this.seen.get(id) ?? {}
    if (subject === undefined) return
    this.seen.delete(id)
    const share = this.shares.get(subject) as Share
    const isLast = share.bytes < 2 * PROOF_BYTES + SUBJECT_BYTES + 2 * subject.length
    const less = isLast ? share.bytes : PROOF_BYTES
    share.bytes -= less
    this.bytes -= less
    if (isLast) this.shares.delete(subject)
  }
}
