// Tokens whose signature is known to be right: they are exchanged or asked about soon after they were signed, then again and again.
import { digest } from '../lib/id.ts'
import { Lru } from '../lib/lru.ts'

const MAX_TOKENS = 20_000
/** Seconds without a question after which nobody asks. */
const QUIET = 60

/** The digests of the tokens that this thread signed or verified lately. */
export class KnownTokens {
  private readonly digests = new Lru<true>(MAX_TOKENS)
  private askedAt = Number.NEGATIVE_INFINITY

  /** Remembers a token that was just signed. Where nobody asks about tokens, as resource servers verify them by themselves, it saves the work. */
  signed(token: string, now: number): void {
    if (now - this.askedAt <= QUIET) this.digests.set(digest(token), true)
  }

  /** Whether the signature of a token is right: from memory, or else by `verify`. */
  async isAuthentic(token: string, now: number, verify: () => Promise<boolean>): Promise<boolean> {
    this.askedAt = now
    const id = digest(token)
    if (this.digests.get(id)) return true
    if (!(await verify())) return false
    this.digests.set(id, true)
    return true
  }

  clear(): void {
    this.digests.clear()
  }
}
