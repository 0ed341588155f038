// The share of one key (an address or a client) in the limit on all requests. A key may use the whole limit while no other key sends
// requests, and four fifths of it while others do, so that one loop limits only itself.
import { randomInt } from 'node:crypto'
import { type Rate, secondsOf, takeShared } from './rate_limit.ts'

export const SHARE = 0.8
const NANOS = 1e9
/** Others count as present for this long after their last request. */
const PRESENT_NS = 60_000_000_000n
/** Keys are spread over this many buckets by a hash with a random key. Two that meet in one share it. */
export const SHARE_BUCKETS = 16_384
/** The cells before the buckets: key of the hash, number of instances, and the last two keys (bucket and time of each). */
const [KEY, AMONG, LAST, LAST_AT, OTHER, OTHER_AT, FIRST] = [0, 1, 2, 3, 4, 5, 6]

/** Buckets in memory that several threads share. A bucket is the time at which it is full (GCRA). */
export class LimitShare {
  readonly memory: SharedArrayBuffer
  protected readonly cells: BigInt64Array
  /** The first cell after the buckets. */
  protected readonly rest = FIRST + SHARE_BUCKETS
  private readonly limit: Rate
  private readonly key: number

  /** `memory` belongs to the share of another thread. Without it, new memory is allocated, with `extra` cells after the buckets. */
  constructor(limit: Rate, memory?: SharedArrayBuffer, extra = 0) {
    this.memory = memory ?? new SharedArrayBuffer(8 * (FIRST + SHARE_BUCKETS + extra))
    this.cells = new BigInt64Array(this.memory)
    this.limit = limit
    if (!memory) {
      this.cells[KEY] = BigInt(randomInt(2 ** 31))
      this.divideAmong(1)
    }
    this.key = Number(this.cells[KEY])
  }

  /** Sets the number of instances that share the limit, for all threads of this process. */
  divideAmong(instances: number): void {
    Atomics.store(this.cells, AMONG, BigInt(instances))
  }

  /** Takes a request of a key. Returns 0, or the seconds until the next one fits, rounded up. */
  take(key: string): number {
    const now = process.hrtime.bigint()
    const bucket = this.bucketOf(key)
    return this.hasOthers(bucket, now) ? this.takePart(FIRST + bucket, now, SHARE) : 0
  }

  /** Returns a request that was taken. */
  giveBack(key: string): void {
    this.returnPart(FIRST + this.bucketOf(key), SHARE)
  }

  /** Takes a request of the bucket in a cell, which may use this part of the limit. Returns 0 or seconds, as take(). */
  protected takePart(cell: number, now: bigint, part: number): number {
    return secondsOf(takeShared(this.cells, cell, now, this.each(part), this.most()))
  }

  /** Returns a request to the bucket in a cell. */
  protected returnPart(cell: number, part: number): void {
    if (Atomics.load(this.cells, cell) > process.hrtime.bigint()) Atomics.sub(this.cells, cell, this.each(part))
  }

  protected bucketOf(key: string): number {
    let hash = this.key
    for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
    return ((hash ^ (hash >>> 13)) >>> 0) % SHARE_BUCKETS
  }

  /** Nanoseconds of one request at a part of the rate. */
  private each(part: number): bigint {
    const among = Number(Atomics.load(this.cells, AMONG))
    return BigInt(Math.round((NANOS * among) / (part * this.limit.rate)))
  }

  /** The time in which the burst refills, which is the same for every part of the limit. */
  private most(): bigint {
    return BigInt(Math.round((this.limit.burst / this.limit.rate) * NANOS))
  }

  /** Notes a request of a bucket. Returns whether another bucket had one within the last minute. */
  private hasOthers(bucket: number, now: bigint): boolean {
    const { cells } = this
    const mine = BigInt(bucket)
    const last = Atomics.load(cells, LAST)
    if (last !== mine) {
      Atomics.store(cells, OTHER, last)
      Atomics.store(cells, OTHER_AT, Atomics.load(cells, LAST_AT))
      Atomics.store(cells, LAST, mine)
    }
    Atomics.store(cells, LAST_AT, now)
    const otherAt = Atomics.load(cells, OTHER_AT)
    return otherAt > 0n && Atomics.load(cells, OTHER) !== mine && now - otherAt < PRESENT_NS
  }
}
