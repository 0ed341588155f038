// What is limited for one address or host, at all instances together (docs/decisions/0011).
import { Buckets } from './rate_limit.ts'

/** The store operations of the buckets. Times and costs are in microseconds. */
export interface BucketStore {
  /** Returns 0, or how long the bucket needs to have one more. */
  takeFromBucket(input: { name: string; now: number; each: number; most: number }): Promise<number>
  sweepBuckets(input: { now: number }): Promise<unknown>
}

const MICROS = 1e6
const SWEEP_MS = 60_000

/**
 * A token bucket for each key, which all instances share in the store. The one of this thread is asked first, so that a flood costs the
 * database no more than the limit; what the shared one refuses is refused here until the time it says.
 */
export class SharedBuckets {
  private readonly kind: string
  private readonly here: Buckets
  private readonly store: BucketStore
  private readonly each: number
  private readonly most: number
  private sweptMs = performance.now()

  /** `kind` tells its keys from those of other limits. */
  constructor(kind: string, rate: number, burst: number, store: BucketStore) {
    this.kind = kind
    this.here = new Buckets(rate, burst)
    this.store = store
    this.each = Math.round(MICROS / rate)
    this.most = this.each * burst
  }

  /** Takes one of a key, here at once. Returns 0, or the whole seconds until the next one is there. Rejects when the store is away. */
  async take(key: string): Promise<number> {
    const wait = this.here.take(key)
    if (wait > 0) return wait
    const now = Date.now() * 1000
    this.sweep(now)
    const { each, most } = this
    const seconds = (await this.store.takeFromBucket({ name: `${this.kind} ${key}`, now, each, most })) / MICROS
    if (seconds === 0) return 0
    this.here.emptyFor(key, seconds)
    return Math.max(1, Math.ceil(seconds))
  }

  /** How long a key has to wait by what is known here, without taking one. */
  wait(key: string): number {
    return this.here.wait(key)
  }

  private sweep(now: number): void {
    if (performance.now() - this.sweptMs < SWEEP_MS) return
    this.sweptMs = performance.now()
    // The next one finds what this one leaves.
    void this.store.sweepBuckets({ now }).catch(() => {})
  }
}
