// A cache of tokens whose signature is known to be valid: tokens are exchanged or introspected soon after they were signed, and repeatedly.
import { digest } from '../lib/id.ts'
import { Lru } from '../lib/lru.ts'
import { MB } from '../lib/memory.ts'

const MAX_TOKENS = 20_000
/** After this many seconds without a lookup, signed tokens are no longer cached. */
const QUIET = 60

/** The digests of tokens that this thread signed or verified recently. */
export class KnownTokens {
  private readonly digests = new Lru<true>({ max: MAX_TOKENS, bytes: 4 * MB })
  private askedAt = Number.NEGATIVE_INFINITY

  /** Caches a token that was just signed. If there are no lookups, because resource servers verify tokens themselves, nothing is cached. */
  signed(token: string, now: number): void {
    if (now - this.askedAt <= QUIET) this.digests.set(digest(token), true)
  }

  /** Whether the signature of a token is valid: from the cache, or else by `verify`. */
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
