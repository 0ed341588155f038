// The replay set: an exact, bounded set of single-use values in memory.
import { overloaded } from './error.ts'

/** The replay cache: the set itself, or a proxy for the thread that has it. */
export interface ReplayCache {
  /** Adds a value until `expires_at`. False when the set contains it. Throws 503 when the set is full. */
  add(value: string, expires_at: number, now: number): boolean | Promise<boolean>
  /** Removes a value whose use failed. */
  remove(value: string): unknown
}

/** A set whose members are removed when they expire. Each member has its own expiry. */
export class ReplaySet {
  private readonly max: number
  private readonly values = new Set<string>()
  /** The members by the second in which they expire. */
  private readonly expiring = new Map<number, string[]>()
  private sweptAt = 0

  constructor(max: number) {
    this.max = max
  }

  get size(): number {
    return this.values.size
  }

  /** Adds a value until `expires_at`. False when the set contains it. Times are whole epoch seconds. Throws 503 when the set is full. */
  add(value: string, expires_at: number, now: number): boolean {
    if (now !== this.sweptAt) this.sweep(now)
    if (this.values.has(value)) return false
    if (expires_at <= now) return true
    if (this.values.size >= this.max) throw overloaded('used_set')
    this.values.add(value)
    const others = this.expiring.get(expires_at)
    if (others) others.push(value)
    else this.expiring.set(expires_at, [value])
    return true
  }

  /** Removes a value whose use failed. */
  remove(value: string): void {
    this.values.delete(value)
  }

  /** Runs once a second, over as many entries as there are different seconds. */
  private sweep(now: number): void {
    this.sweptAt = now
    for (const [second, expired] of this.expiring) {
      if (second > now) continue
      for (const value of expired) this.values.delete(value)
      this.expiring.delete(second)
    }
  }
}
