// Rate limits, and the login attempts in progress. All of them are bounded in memory.
import { Lru } from '../lib/lru.ts'
import { MB } from '../lib/memory.ts'
import { peerAddress } from './listener.ts'

/** What a bucket allows: `rate` tokens a second, and `burst` at once. It is read at each use, because a reload of the configuration can change it. */
export interface Rate {
  readonly rate: number
  readonly burst: number
}

/** A token bucket: `rate` per second and `burst` at once, divided among several instances. */
export class TokenBucket implements Limiter {
  private readonly limit: Rate
  private readonly among: () => number
  private tokens: number
  private at = performance.now()

  /** `among` returns the number of instances that share the rate and the burst. */
  constructor(limit: Rate, among: () => number = () => 1) {
    this.limit = limit
    this.among = among
    this.tokens = limit.burst
  }

  /** Takes tokens: one by default, or as many as a larger request costs. Returns 0, or the seconds until they are there, rounded up. */
  take(cost = 1): number {
    const wait = this.wait(cost)
    if (wait === 0) this.tokens -= cost
    return wait
  }

  /** Returns the same without taking a token. */
  wait(cost = 1): number {
    const now = performance.now()
    const among = this.among()
    const rate = this.limit.rate / among
    this.tokens = Math.min(Math.max(1, this.limit.burst / among), this.tokens + ((now - this.at) / 1000) * rate)
    this.at = now
    return this.tokens < cost ? Math.max(1, Math.ceil((cost - this.tokens) / rate)) : 0
  }

  /** Returns a token that was taken. */
  giveBack(): void {
    this.wait()
    this.tokens = Math.min(Math.max(1, this.limit.burst / this.among()), this.tokens + 1)
  }

  /** Empties the bucket for the given time. The shared bucket, from which other instances also take, has no token until then. */
  emptyFor(seconds: number): void {
    this.wait()
    this.tokens = Math.min(this.tokens, 1 - (seconds * this.limit.rate) / this.among())
  }
}

/** A rate limit. take() returns 0, or the seconds until the next token, rounded up; giveBack() returns a token that was taken. */
export interface Limiter {
  take(): number
  giveBack(): void
}

const NANOS = 1e9

/**
 * Takes a token of `each` nanoseconds from a bucket that several threads share: a cell with the time at which it is full (GCRA, a token
 * bucket whose state is one number), changed by compare-and-exchange. `now` is of process.hrtime, which is one clock for all threads
 * (performance.now() begins at the start of each), and `most` are the nanoseconds in which it refills. Returns 0, or the nanoseconds
 * until the token is there.
 */
export function takeShared(cells: BigInt64Array, cell: number, now: bigint, each: bigint, most: bigint): bigint {
  for (;;) {
    const before = Atomics.load(cells, cell)
    const next = (before > now ? before : now) + each
    // One token always fits.
    const over = next - now - (most > each ? most : each)
    if (over > 0n) return over
    if (Atomics.compareExchange(cells, cell, before, next) === before) return 0n
  }
}

/** Nanoseconds as seconds, rounded up. */
export const secondsOf = (nanos: bigint): number => Math.ceil(Number(nanos) / NANOS)

/**
 * A token bucket in memory that several threads share, and the number of instances that share the limit. It starts full.
 */
export class SharedBucket implements Limiter {
  readonly memory: SharedArrayBuffer
  /** The time at which it is full, and the number of instances. */
  private readonly cells: BigInt64Array
  private readonly limit: Rate
  /** Nanoseconds of one token at the rate that `each` was computed for. */
  private each = 0n
  private rate = 0

  /** `memory` belongs to the bucket to share. Without it, a new bucket is created. */
  constructor(limit: Rate, memory?: SharedArrayBuffer) {
    this.memory = memory ?? new SharedArrayBuffer(16)
    this.cells = new BigInt64Array(this.memory)
    if (!memory) this.divideAmong(1)
    this.limit = limit
  }

  /** Sets the number of instances that share the limit, for all threads of this process. */
  divideAmong(instances: number): void {
    Atomics.store(this.cells, 1, BigInt(instances))
  }

  take(): number {
    const { rate, burst } = this.limit
    if (rate !== this.rate) {
      this.rate = rate
      this.each = BigInt(Math.round(NANOS / rate))
    }
    const among = Number(Atomics.load(this.cells, 1))
    const each = this.each * BigInt(among)
    // A share of the burst refills at a share of the rate in the same time. One request must always fit.
    const most = this.each * BigInt(Math.max(burst, among))
    return secondsOf(takeShared(this.cells, 0, process.hrtime.bigint(), each, most))
  }

  giveBack(): void {
    Atomics.sub(this.cells, 0, this.each * Atomics.load(this.cells, 1))
  }
}

/** As many as fit: with room for more, the first bucket would take longer to create than a request does. */
const [MAX_TRACKED, MAX_BYTES] = [30_000, 8 * MB]
/** Memory of a bucket, apart from its key. Its limit belongs to all buckets. */
export const BUCKET_BYTES = 160

/** A token bucket for each key. */
export class Buckets {
  private readonly limit: Rate
  private readonly known = new Lru<TokenBucket>({ max: MAX_TRACKED, bytes: MAX_BYTES, sizeOf: () => BUCKET_BYTES })

  constructor(limit: Rate) {
    this.limit = limit
  }

  /** Takes tokens of a key, one by default. Returns 0, or the seconds until they are there, rounded up. */
  take(key: string, cost = 1): number {
    return this.of(key).take(cost)
  }

  /** Returns the same without taking a token. */
  wait(key: string): number {
    return this.known.get(key)?.wait() ?? 0
  }

  /** Returns a token that was taken of a key. */
  giveBack(key: string): void {
    this.known.get(key)?.giveBack()
  }

  /** Empties the bucket of a key for the given time. */
  emptyFor(key: string, seconds: number): void {
    this.of(key).emptyFor(seconds)
  }

  private of(key: string): TokenBucket {
    return this.known.memo(key, () => new TokenBucket(this.limit))
  }
}

/** The part of an address that identifies a subscriber: the whole IPv4 address, or the /64 prefix of an IPv6 address. */
export function subscriber(address: string): string {
  const plain = peerAddress(address)
  if (!plain.includes(':')) return plain
  const [head = '', tail = ''] = plain.split('::') as [string, string?]
  const left = head ? head.split(':') : []
  const right = tail ? tail.split(':') : []
  const groups = plain.includes('::')
    ? [...left, ...Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0'), ...right]
    : left
  return `${groups.slice(0, 4).join(':')}::/64`
}

/** The login attempts in progress by address, in this thread or, for all threads, in the supervisor. */
export interface LoginAttempts {
  /** Begins an attempt. Returns the number of attempts of the address in progress, this one included. */
  begin(address: string): number | Promise<number>
  end(address: string): void | Promise<void>
}

/** Counts attempts in progress. It has an entry for each address with an attempt, so it never has more entries than requests are in progress. */
export class AttemptsInProgress implements LoginAttempts {
  private readonly running = new Map<string, number>()

  begin(address: string): number {
    const key = subscriber(address)
    const count = (this.running.get(key) ?? 0) + 1
    this.running.set(key, count)
    return count
  }

  end(address: string): void {
    const key = subscriber(address)
    const count = (this.running.get(key) ?? 0) - 1
    if (count > 0) this.running.set(key, count)
    else this.running.delete(key)
  }

  /** The number of addresses with an attempt in progress. */
  get size(): number {
    return this.running.size
  }
}
