// Waiting with a timeout.
import { setTimeout as sleep } from 'node:timers/promises'

/** Resolves when the work is done or the timeout has expired, whichever is first. Rejects as the work does. */
export async function withTimeout(ms: number, work: Promise<unknown>): Promise<void> {
  const over = new AbortController()
  try {
    await Promise.race([work, sleep(ms, undefined, { signal: over.signal })])
  } finally {
    over.abort()
  }
}

const REMINDER_MS = 5000

/** Waits for the work, and calls `remind` every five seconds meanwhile. Resolves and rejects as the work does. */
export async function withReminders<R>(work: Promise<R>, remind: () => void): Promise<R> {
  const timer = setInterval(remind, REMINDER_MS)
  try {
    return await work
  } finally {
    clearInterval(timer)
  }
}
