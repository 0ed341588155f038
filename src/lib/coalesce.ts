// Work that is asked for by events: once at a time, again when it was asked for meanwhile, and until it succeeds.
import { setTimeout as sleep } from 'node:timers/promises'

export interface CoalesceOptions {
  /** Milliseconds to the next try after a failure. */
  retryMs: number
  /** Hears of the first of several failures in a row. */
  onError(error: unknown): void
}

/** Returns a function that asks for the work. Whatever it was asked before it began, it does once. */
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
