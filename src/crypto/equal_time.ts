// How long the answer to a password takes: as long as the costliest kind of hash that is stored, so that the time does not reveal which kind an account
// has, or whether there is one. The rest of the time is a wait, not more work.

const MAX_KINDS = 50
/** The part of the measured time by which verifications may be slower, so that few answers need a second step. */
const HEADROOM = 2

/** The measured times of verifications, by kind of hash. Logins add none: failed attempts at one account must not change the time of all answers. */
export class VerificationTimes {
  private readonly measured = new Map<string, number>()

  /** Whether there is a time of a kind. */
  has(kind: string): boolean {
    return this.measured.has(kind)
  }

  /** Sets the milliseconds that verifications of a kind took. The oldest kind goes when there are too many. */
  set(kind: string, samples: readonly number[]): void {
    const [oldest] = this.measured.keys()
    if (oldest !== undefined && this.measured.size >= MAX_KINDS) this.measured.delete(oldest)
    this.measured.set(kind, median(samples))
  }

  /** When to answer a verification that took `spentMs`, in milliseconds from its start: at the next multiple of one step, which is the same for all these kinds. */
  answerAt(spentMs: number, kinds: readonly string[]): number {
    const step = HEADROOM * Math.max(0, ...kinds.map((kind) => this.measured.get(kind) ?? 0))
    return step === 0 ? spentMs : Math.ceil(spentMs / step) * step
  }
}

/** The median, because one time may be that of a busy machine. */
const median = (samples: readonly number[]): number =>
  [...samples].sort((a, b) => a - b)[Math.floor(samples.length / 2)] ?? 0
