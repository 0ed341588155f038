// Requests that wait before they are answered, so that guessing takes time. Their number and their time are bounded.
import { Lru } from '../lib/lru.ts'
import { MB } from '../lib/memory.ts'

/** Milliseconds between two requests of one key, and before the first one. */
const PAUSE_MS = 1000
/** Maximum milliseconds that a request waits. */
const MAX_WAIT_MS = 5000
const MAX_WAITING = 256
const MAX_KEYS = 10_000

/**
 * Delays the requests of one key, so that they continue one after the other with a pause between them. Requests of different keys do not wait
 * for each other. When the room is full, the request that has waited longest continues early: no request is refused because others wait.
 */
export class WaitingRoom {
  /** The time at which the last request of a key continues. */
  private readonly turns = new Lru<number>({ max: MAX_KEYS, bytes: 2 * MB })
  private readonly waiting = new Map<NodeJS.Timeout, () => void>()

  /** Waits for the turn of a request. Returns 0 afterwards, or at once the seconds to wait when too many requests of the key wait. */
  async enter(key: string): Promise<number> {
    const nowMs = performance.now()
    const turnMs = Math.max(nowMs, this.turns.get(key) ?? 0) + PAUSE_MS
    const waitMs = turnMs - nowMs
    if (waitMs > MAX_WAIT_MS) return Math.ceil(waitMs / 1000)
    this.turns.set(key, turnMs)
    if (this.waiting.size >= MAX_WAITING) this.releaseFirst()
    await this.wait(waitMs)
    return 0
  }

  /** The number of requests that wait. */
  get size(): number {
    return this.waiting.size
  }

  /** Ends the wait of all requests, which then continue. */
  close(): void {
    while (this.waiting.size > 0) this.releaseFirst()
  }

  private wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.release(timer), ms)
      this.waiting.set(timer, resolve)
    })
  }

  private releaseFirst(): void {
    const [first] = this.waiting.keys()
    if (first) this.release(first)
  }

  private release(timer: NodeJS.Timeout): void {
    clearTimeout(timer)
    const resolve = this.waiting.get(timer)
    this.waiting.delete(timer)
    resolve?.()
  }
}
