// A circuit breaker: calls to an unavailable peer are refused at once.
import { unavailable } from '../lib/error.ts'
import type { Clock } from '../lib/time.ts'

/** Failures in a row after which the circuit opens. */
const FAILURES_TO_OPEN = 5
const LONGEST_PAUSE = 8

/** Allows calls until several in a row have failed. Then allows one call after 1, 2, 4 and each further 8 seconds, until one succeeds. */
export class Breaker {
  private readonly what: string
  private readonly clock: Clock
  private failures = 0
  private closedUntil = 0
  private trying = false

  /** The name of the peer in the error for callers. */
  constructor(what: string, clock: Clock) {
    this.what = what
    this.clock = clock
  }

  /** Whether the circuit is open. */
  get isOpen(): boolean {
    return this.failures >= FAILURES_TO_OPEN
  }

  /** Runs `work`. Its failures count if `isUnavailable` returns true. Rejects with 503 at once while the circuit is open. */
  async run<T>(work: () => Promise<T>, isUnavailable: (error: unknown) => boolean): Promise<T> {
    const probing = this.isOpen
    if (probing) this.refuseWhileClosed()
    this.trying = probing
    try {
      const result = await work()
      this.failures = 0
      return result
    } catch (error) {
      if (!isUnavailable(error)) this.failures = 0
      // Calls that were in flight when the circuit opened do not extend the pause.
      else if (probing || !this.isOpen) this.fail()
      throw error
    } finally {
      if (probing) this.trying = false
    }
  }

  private refuseWhileClosed(): void {
    const wait = this.closedUntil - this.clock.now()
    if (wait <= 0 && !this.trying) return
    throw unavailable(`${this.what} is unavailable`, {
      reason: 'breaker_open',
      headers: { 'retry-after': String(Math.max(1, wait)) },
    })
  }

  private fail(): void {
    this.failures++
    if (this.isOpen)
      this.closedUntil = this.clock.now() + Math.min(LONGEST_PAUSE, 2 ** (this.failures - FAILURES_TO_OPEN))
  }
}
