// The share of addresses in the limit on all requests: of one address, and of all addresses from which no client of operators has
// authenticated lately. What unknown callers send, from however many addresses, leaves a fifth of the limit for operators' clients.
import { LimitShare, SHARE, SHARE_BUCKETS } from './limit_share.ts'
import { type Rate, subscriber } from './rate_limit.ts'

/** An address is known for this long after a client of operators authenticated from it. */
const KNOWN_NS = 600_000_000_000n
/** The part of the limit for the first request of unknown addresses when their share is used up: an operators' client that comes from a new address becomes known by it. */
const FIRST_REQUESTS = 0.1
/** An address has another first request after this time. */
const FIRST_AGAIN_NS = 10_000_000_000n
/** The cells after the shares: the buckets of all unknown addresses and of their first requests, the last authentication, and by bucket the time until which it is known and the time of its last first request. */
const [UNKNOWN, FIRSTS, LAST_KNOWN, KNOWN] = [0, 1, 2, 3]
const TRIED = KNOWN + SHARE_BUCKETS
const CELLS = TRIED + SHARE_BUCKETS

/** The shares of addresses, in memory that several threads share. */
export class AddressShare extends LimitShare {
  /** `memory` belongs to the share of another thread. Without it, new memory is allocated. */
  constructor(limit: Rate, memory?: SharedArrayBuffer) {
    super(limit, memory, CELLS)
  }

  override take(address: string): number {
    const name = subscriber(address)
    const alone = super.take(name)
    if (alone > 0) return alone
    const now = process.hrtime.bigint()
    const bucket = this.bucketOf(name)
    if (!this.hasKnown(now) || this.isKnown(bucket, now)) return 0
    const wait = this.takePart(this.rest + UNKNOWN, now, SHARE)
    if (wait === 0) return 0
    const tried = this.rest + TRIED + bucket
    if (now - Atomics.load(this.cells, tried) > FIRST_AGAIN_NS) {
      Atomics.store(this.cells, tried, now)
      if (this.takePart(this.rest + FIRSTS, now, FIRST_REQUESTS) === 0) return 0
    }
    super.giveBack(name)
    return wait
  }

  override giveBack(address: string): void {
    const name = subscriber(address)
    super.giveBack(name)
    if (!this.isKnown(this.bucketOf(name), process.hrtime.bigint())) this.returnPart(this.rest + UNKNOWN, SHARE)
  }

  /** Notes that a client of operators authenticated from an address. */
  know(address: string): void {
    const now = process.hrtime.bigint()
    Atomics.store(this.cells, this.rest + KNOWN + this.bucketOf(subscriber(address)), now + KNOWN_NS)
    Atomics.store(this.cells, this.rest + LAST_KNOWN, now + KNOWN_NS)
  }

  private hasKnown(now: bigint): boolean {
    return Atomics.load(this.cells, this.rest + LAST_KNOWN) > now
  }

  private isKnown(bucket: number, now: bigint): boolean {
    return Atomics.load(this.cells, this.rest + KNOWN + bucket) > now
  }
}
