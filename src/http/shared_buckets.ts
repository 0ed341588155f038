// Rate limits by key (an address or a host) that hold for all instances together (docs/decisions/0011).
import { Buckets, type Rate } from './rate_limit.ts'

/** The store operations of the buckets. Times and costs are in microseconds. */
export interface BucketStore {
  /** Returns 0, or the time until the bucket has another token. */
  takeFromBucket(input: { name: string; now: number; each: number; most: number }): Promise<number>
  returnToBucket(input: { name: string; each: number }): Promise<unknown>
  sweepBuckets(input: { now: number }): Promise<unknown>
}

const MICROS = 1e6
const SWEEP_MS = 60_000

/**
 * A token bucket for each key, shared by all instances in the store. The bucket of this thread is asked first, so that a flood causes
 * no more database operations than the limit. When the shared bucket refuses, this thread refuses until the time that it states.
 */
export class SharedBuckets {
  private readonly kind: string
  private readonly here: Buckets
  private readonly store: BucketStore
  private readonly limit: Rate
  private sweptMs = performance.now()

  /** `kind` separates its keys from those of other limits. */
  constructor(kind: string, limit: Rate, store: BucketStore) {
    this.kind = kind
    this.here = new Buckets(limit)
    this.store = store
    this.limit = limit
  }

  /** Takes tokens of a key, one by default. Returns 0, or the seconds until they are there, rounded up. Rejects when the store is unavailable. */
  async take(key: string, cost = 1): Promise<number> {
    const wait = this.here.take(key, cost)
    if (wait > 0) return wait
    const now = Date.now() * 1000
    this.sweep(now)
    const each = this.each()
    const most = each * this.limit.burst
    const taken = { name: `${this.kind} ${key}`, now, each: each * cost, most }
    const seconds = (await this.store.takeFromBucket(taken)) / MICROS
    if (seconds === 0) return 0
    this.here.emptyFor(key, seconds)
    return Math.max(1, Math.ceil(seconds))
  }

  /** Returns a token of a key: the request turned out not to be limited. */
  async giveBack(key: string): Promise<void> {
    this.here.giveBack(key)
    await this.store.returnToBucket({ name: `${this.kind} ${key}`, each: this.each() })
  }

  /** Returns the seconds that a key has to wait, as far as this thread knows, without taking a token. */
  wait(key: string): number {
    return this.here.wait(key)
  }

  /** The microseconds of one token. */
  private each(): number {
    return Math.round(MICROS / this.limit.rate)
  }

  private sweep(now: number): void {
    if (performance.now() - this.sweptMs < SWEEP_MS) return
    this.sweptMs = performance.now()
    // When a sweep fails, the next one removes the same rows.
    void this.store.sweepBuckets({ now }).catch(() => {})
  }
}
