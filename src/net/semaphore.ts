// Semaphores with a bounded queue and a maximum waiting time.
import { overloaded } from '../lib/error.ts'

const MAX_WAITING = 256
const MAX_WAIT_MS = 2000

const full = () => overloaded('outbound', 'too many outgoing requests are under way')

/** At most `max` concurrent runs; 256 more wait for up to 2 seconds each. */
export class Semaphore {
  private readonly max: number
  private running = 0
  private readonly waiting = new Set<() => void>()

  constructor(max: number) {
    this.max = max
  }

  /** Whether nothing runs and nothing waits. */
  get isIdle(): boolean {
    return this.running === 0 && this.waiting.size === 0
  }

  /** Runs `work` when there is a free place. Rejects with 503 when the queue is full, or after the maximum waiting time. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.enter()
    try {
      return await work()
    } finally {
      this.leave()
    }
  }

  private enter(): Promise<void> | undefined {
    if (this.running < this.max) {
      this.running++
      return
    }
    if (this.waiting.size >= MAX_WAITING) throw full()
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.delete(admit)
        reject(full())
      }, MAX_WAIT_MS)
      const admit = () => {
        clearTimeout(timer)
        resolve()
      }
      this.waiting.add(admit)
    })
  }

  /** Passes the place to the longest waiting caller (FIFO). */
  private leave(): void {
    const [next] = this.waiting
    if (!next) {
      this.running--
      return
    }
    this.waiting.delete(next)
    next()
  }
}

/** Runs work when there is a place for it. Rejects with 503 otherwise. */
export type PlaceTurn = <T>(work: () => Promise<T>) => Promise<T>

/** Waits for nothing. */
export const AT_ONCE: PlaceTurn = (work) => work()

/** A semaphore for each name, which exists while it is used. */
export class Semaphores {
  private readonly max: number
  private readonly used = new Map<string, Semaphore>()

  /** `max` is the number of concurrent runs of one name. */
  constructor(max: number) {
    this.max = max
  }

  /** Runs `work` when its name has a free place. Rejects with 503 as Semaphore.run() does. */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const semaphore = this.used.get(name) ?? new Semaphore(this.max)
    this.used.set(name, semaphore)
    try {
      return await semaphore.run(work)
    } finally {
      if (semaphore.isIdle) this.used.delete(name)
    }
  }
}
