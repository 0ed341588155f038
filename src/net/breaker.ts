// Spares a peer that is away from calls, and callers from waiting for it.
import { unavailable } from '../lib/error.ts'
import type { Clock } from '../lib/time.ts'

/** Failures in a row after which a peer is thought to be away. */
const PATIENCE = 5
const LONGEST_PAUSE = 8

/** Lets calls through until several in a row have failed; then one each 1, 2, 4, 8 seconds, until one succeeds. */
export class Breaker {
  private readonly what: string
  private readonly clock: Clock
  private failures = 0
  private closedUntil = 0
  private trying = false

  /** `what` is away, callers are told. */
  constructor(what: string, clock: Clock) {
    this.what = what
    this.clock = clock
  }

  /** The peer is thought to be away. */
  get isOpen(): boolean {
    return this.failures >= PATIENCE
  }

  /** Runs `work`; its failures count when `isAway` says so. Rejects at once, with 503, while nobody may try. */
  async run<T>(work: () => Promise<T>, isAway: (error: unknown) => boolean): Promise<T> {
    const probing = this.isOpen
    if (probing) this.refuseWhileClosed()
    this.trying = probing
    try {
      const result = await work()
      this.failures = 0
      return result
    } catch (error) {
      if (!isAway(error)) this.failures = 0
      // What was under way when it opened makes no pause longer.
      else if (probing || !this.isOpen) this.fail()
      throw error
    } finally {
      if (probing) this.trying = false
    }
  }

  private refuseWhileClosed(): void {
    const wait = this.closedUntil - this.clock.now()
    if (wait <= 0 && !this.trying) return
    throw unavailable(`${this.what} is away`, {
      reason: 'breaker_open',
      headers: { 'retry-after': String(Math.max(1, wait)) },
    })
  }

  private fail(): void {
    this.failures++
    if (this.isOpen) this.closedUntil = this.clock.now() + Math.min(LONGEST_PAUSE, 2 ** (this.failures - PATIENCE))
  }
}
