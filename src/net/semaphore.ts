// Lets a bounded number of things happen at once. The next ones wait in line for a while; what exceeds that is refused.
import { overloaded } from '../lib/error.ts'

const MAX_WAITING = 256
const MAX_WAIT_MS = 2000

const full = () => overloaded('outbound', 'too many outgoing requests are under way')

/** `max` at once, 256 in line for 2 seconds each. */
export class Semaphore {
  private readonly max: number
  private running = 0
  private readonly waiting = new Set<() => void>()

  constructor(max: number) {
    this.max = max
  }

  /** Nothing runs and nothing waits. */
  get isIdle(): boolean {
    return this.running === 0 && this.waiting.size === 0
  }

  /** Runs `work` when it is its turn. Rejects with 503 when the line is full, or when the wait was too long. */
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

  /** Hands the place to whoever waits longest, so that nobody overtakes. */
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
