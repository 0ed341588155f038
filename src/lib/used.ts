// Values that may be used once within a time, known in memory: exact, and bounded.
import { unavailable } from './error.ts'

/** A set whose members are forgotten when they expire. All of one set live about equally long. */
export class UsedSet {
  private readonly max: number
  /** In order of insertion, which is nearly the order of expiry. */
  private readonly expiries = new Map<string, number>()

  constructor(max: number) {
    this.max = max
  }

  get size(): number {
    return this.expiries.size
  }

  /** Adds a value until `expires_at`; false when it was there. Times are epoch seconds. Throws 503 when the set is full. */
  add(value: string, expires_at: number, now: number): boolean {
    this.forget(now)
    const known = this.expiries.get(value)
    if (known !== undefined && known > now) return false
    if (this.expiries.size >= this.max) throw unavailable('the service is overloaded', { reason: 'used_set_full' })
    this.expiries.delete(value)
    this.expiries.set(value, expires_at)
    return true
  }

  private forget(now: number): void {
    for (const [value, expires_at] of this.expiries) {
      if (expires_at > now) return
      this.expiries.delete(value)
    }
  }
}
