// Coalesced work: it runs once at a time, again if it was requested while it ran, and is retried until it succeeds.
import { setTimeout as sleep } from 'node:timers/promises'

export interface CoalesceOptions {
  /** Milliseconds until the next attempt after a failure. */
  retryMs: number
  /** Called for the first of several failures in a row. */
  onError(error: unknown): void
}

/** Returns a function that requests the work. All requests before a run starts cause one run. */
export function coalesce(work: () => Promise<unknown>, { retryMs, onError }: CoalesceOptions): () => void {
  let running = false
  let asked = false
  let failing = false
  const run = async (): Promise<void> => {
    running = true
    while (asked) {
      asked = false
      try {
        await work()
        failing = false
      } catch (error) {
        if (!failing) onError(error)
        failing = true
        asked = true
        await sleep(retryMs, undefined, { ref: false })
      }
    }
    running = false
  }
  return () => {
    asked = true
    if (!running) void run()
  }
}
