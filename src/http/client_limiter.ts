// The limits of single clients. A process has one limiter, which its front threads share.
import { Lru } from '../lib/lru.ts'
import { MB } from '../lib/memory.ts'
import { BUCKET_BYTES, TokenBucket } from './rate_limit.ts'
import { type TokenCountParts, TokenCounts } from './token_counts.ts'

export type ClientLimit = 'requests_per_second' | 'tokens_per_day'

/** What a client takes: a request, a token, or both, each with its limit. What has no limit is not counted. */
export interface ClientTake {
  client_id: string
  requests_per_second?: number | undefined
  tokens_per_day?: number | undefined
}

/** The limit that a client has reached, and the seconds until it may try again. */
export interface ReachedLimit {
  limit: ClientLimit
  wait: number
}

export interface ClientLimiter {
  /** Takes everything that is wanted, or nothing. Returns the limit that does not allow it. */
  take(wanted: ClientTake): ReachedLimit | undefined | Promise<ReachedLimit | undefined>
  /** Returns a token that was taken and then not issued. */
  giveBackToken(client_id: string): void
  close(): Promise<void>
}

const MAX_CLIENTS = 60_000
/** Seconds of the rate that a client may use at once. */
const BURST = 2
const rateOf = (rate: number) => ({ rate, burst: Math.max(1, rate * BURST) })

/** The limiter of this process. The requests are divided among the instances, the tokens of a day are counted together. */
export class OwnLimiter implements ClientLimiter {
  private readonly tokens: TokenCounts
  private readonly instances: () => number
  private readonly buckets = new Lru<{ limit: ReturnType<typeof rateOf>; bucket: TokenBucket }>({
    max: MAX_CLIENTS,
    bytes: 16 * MB,
    sizeOf: () => BUCKET_BYTES,
  })

  constructor(parts: TokenCountParts) {
    this.tokens = new TokenCounts(parts)
    this.instances = parts.instances
  }

  /** Reads the counts of today. */
  start(): Promise<void> {
    return this.tokens.start()
  }

  take({ client_id, requests_per_second = 0, tokens_per_day = 0 }: ClientTake): ReachedLimit | undefined {
    if (tokens_per_day > 0 && this.tokens.of(client_id) >= tokens_per_day)
      return { limit: 'tokens_per_day', wait: this.tokens.untilTomorrow() }
    const wait = requests_per_second > 0 ? this.bucketOf(client_id, requests_per_second).take() : 0
    if (wait > 0) return { limit: 'requests_per_second', wait }
    if (tokens_per_day > 0) this.tokens.add(client_id, 1)
    return undefined
  }

  giveBackToken(client_id: string): void {
    this.tokens.add(client_id, -1)
  }

  close(): Promise<void> {
    return this.tokens.stop()
  }

  private bucketOf(client_id: string, rate: number): TokenBucket {
    const { limit, bucket } = this.buckets.memo(client_id, () => {
      const limit = rateOf(rate)
      return { limit, bucket: new TokenBucket(limit, this.instances) }
    })
    // An operator may have changed it.
    if (limit.rate !== rate) Object.assign(limit, rateOf(rate))
    return bucket
  }
}
