// Limits on how often something may happen. All of them are bounded in memory.
import { Lru } from '../lib/lru.ts'
import { peerAddress } from './front.ts'

/** A token bucket: `rate` per second, `burst` at once, or a share of it where several take part. */
export class TokenBucket implements Limiter {
  private readonly rate: number
  private readonly burst: number
  private readonly among: () => number
  private tokens: number
  private at = performance.now()

  /** `among` says how many divide it. */
  constructor(rate: number, burst: number, among: () => number = () => 1) {
    this.rate = rate
    this.burst = burst
    this.among = among
    this.tokens = burst
  }

  /** Takes one. Returns 0, or the whole seconds until the next one is there. */
  take(): number {
    const wait = this.wait()
    if (wait === 0) this.tokens--
    return wait
  }

  /** The same without taking one. */
  wait(): number {
    const now = performance.now()
    const among = this.among()
    const rate = this.rate / among
    this.tokens = Math.min(Math.max(1, this.burst / among), this.tokens + ((now - this.at) / 1000) * rate)
    this.at = now
    return this.tokens < 1 ? Math.max(1, Math.ceil((1 - this.tokens) / rate)) : 0
  }

  /** Has none until so many seconds from now, as somebody says who knows of more takes. */
  emptyFor(seconds: number): void {
    this.wait()
    this.tokens = Math.min(this.tokens, 1 - (seconds * this.rate) / this.among())
  }
}

/** What limits how often: takes one and returns 0, or the whole seconds until the next one is there. */
export interface Limiter {
  take(): number
}

const NANOS = 1e9

/**
 * The same bucket in memory that several threads share: it holds the moment at which it would be full again (GCRA, the token
 * bucket with one number for its state), which is moved on by compare and exchange, and how many divide it. Starts full.
 */
export class SharedBucket implements Limiter {
  readonly memory: SharedArrayBuffer
  /** When it is full, and among how many it is divided. */
  private readonly cells: BigInt64Array
  private readonly each: bigint
  private readonly burst: number

  /** `memory` is that of the bucket to share; a new one where there is none. */
  constructor(rate: number, burst: number, memory?: SharedArrayBuffer) {
    this.memory = memory ?? new SharedArrayBuffer(16)
    this.cells = new BigInt64Array(this.memory)
    if (!memory) this.divideAmong(1)
    this.each = BigInt(Math.round(NANOS / rate))
    this.burst = burst
  }

  /** Has each of so many instances take its share from now on; this one does so in all its threads. */
  divideAmong(instances: number): void {
    Atomics.store(this.cells, 1, BigInt(instances))
  }

  take(): number {
    const among = Number(Atomics.load(this.cells, 1))
    const each = this.each * BigInt(among)
    // A share of the burst at a share of the rate fills in the same time; one request must always fit.
    const most = this.each * BigInt(Math.max(this.burst, among))
    for (;;) {
      // One clock for all threads; each has a performance.now() of its own.
      const now = process.hrtime.bigint()
      const before = Atomics.load(this.cells, 0)
      const isFull = before <= now
      const next = (isFull ? now : before) + each
      const over = next - now - most
      if (over > 0n) return Math.max(1, Math.ceil(Number(over) / NANOS))
      if (Atomics.compareExchange(this.cells, 0, before, next) === before) return 0
    }
  }
}

const MAX_TRACKED = 100_000

/** A token bucket for each key. */
export class Buckets {
  private readonly rate: number
  private readonly burst: number
  private readonly known = new Lru<TokenBucket>(MAX_TRACKED)

  constructor(rate: number, burst: number) {
    this.rate = rate
    this.burst = burst
  }

  /** Takes one of a key. Returns 0, or the whole seconds until the next one is there. */
  take(key: string): number {
    return this.of(key).take()
  }

  /** The same without taking one. */
  wait(key: string): number {
    return this.known.get(key)?.wait() ?? 0
  }

  /** A key has none until so many seconds from now. */
  emptyFor(key: string, seconds: number): void {
    this.of(key).emptyFor(seconds)
  }

  private of(key: string): TokenBucket {
    const bucket = this.known.get(key) ?? new TokenBucket(this.rate, this.burst)
    this.known.set(key, bucket)
    return bucket
  }
}

/** The part of an address that one subscriber has: the whole IPv4 address, the /64 of an IPv6 one. */
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

interface LockoutOptions {
  /** Failures that lock out; 0 switches the lockout off. */
  max: number
  /** Seconds in which they are counted. */
  window: number
  /** Seconds that a lockout lasts. */
  lockout: number
}
interface Attempts {
  failures: number[]
  pending: number
  lockedUntilMs: number
}

/** What became of an attempt; nothing is known of one that was broken off. */
export type LoginResult = 'success' | 'failure' | 'undecided'

/** Attempts of each address, counted here or where they are counted for all threads. */
export interface Attempting {
  begin(address: string): number | Promise<number>
  end(address: string, result: LoginResult): boolean | Promise<boolean>
  readonly locked: number
}

/** Failed logins per address. An attempt is counted while it is under way, so that parallel ones cannot overtake the counter. */
export class Lockout implements Attempting {
  private readonly options: LockoutOptions
  private readonly known = new Lru<Attempts>(MAX_TRACKED)

  constructor(options: LockoutOptions) {
    this.options = options
  }

  /** Begins an attempt. Returns 0 when it may go on, else the seconds to wait. */
  begin(address: string): number {
    const { max } = this.options
    if (max === 0) return 0
    const attempts = this.of(address)
    const nowMs = performance.now()
    if (attempts.lockedUntilMs > nowMs) return Math.ceil((attempts.lockedUntilMs - nowMs) / 1000)
    if (attempts.failures.length + attempts.pending >= max) return 1
    attempts.pending++
    return 0
  }

  /** Ends an attempt that begin() let through. Returns true when it locked the address out. */
  end(address: string, result: LoginResult): boolean {
    const { max, lockout } = this.options
    if (max === 0) return false
    const attempts = this.of(address)
    attempts.pending = Math.max(0, attempts.pending - 1)
    if (result === 'success') attempts.failures = []
    if (result === 'failure') attempts.failures.push(performance.now())
    if (attempts.failures.length < max) return false
    attempts.failures = []
    attempts.lockedUntilMs = performance.now() + lockout * 1000
    return true
  }

  /** How many addresses are locked out now. */
  get locked(): number {
    const nowMs = performance.now()
    return [...this.known.values()].filter(({ lockedUntilMs }) => lockedUntilMs > nowMs).length
  }

  private of(address: string): Attempts {
    const key = subscriber(address)
    const attempts = this.known.get(key) ?? { failures: [], pending: 0, lockedUntilMs: 0 }
    const oldest = performance.now() - this.options.window * 1000
    attempts.failures = attempts.failures.filter((at) => at > oldest)
    this.known.set(key, attempts)
    return attempts
  }
}
