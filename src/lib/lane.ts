// The one concurrency primitive: a bounded queue that turns whatever waits into one batch for a worker.
import { type OAuthError, unavailable } from './error.ts'

/** What became of one job of a batch. */
export type Outcome<R> = { value: R } | { error: unknown }

export interface LaneOptions<J, R> {
  name: string
  /** How many batches may be under way at once: the number of workers. */
  workers: number
  /** Most jobs in one batch. */
  maxBatch: number
  /** Most jobs waiting; the next one is refused at once. */
  maxQueue: number
  /**
   * Milliseconds that a job should wait at most. A burst may fill the whole queue; in a queue that does not empty any more
   * only so many jobs wait as are served in this time, or all that are admitted would be late. Not bounded when missing.
   */
  maxWaitMs?: number
  /** Told that jobs are refused, every ten seconds at most. */
  onRefusal?(waiting: number): void
  /** Runs a batch; the outcomes are in the order of the jobs. A rejection fails every job of the batch. */
  run(jobs: J[]): Promise<Outcome<R>[]>
}

export interface LaneStats {
  waiting: number
  running: number
  jobs: number
  batches: number
  refused: number
  /** Milliseconds that batches took, all workers together: of one worker its busy time. */
  busy_ms: number
}

interface Waiting<J, R> {
  job: J
  resolve: (value: R) => void
  reject: (error: unknown) => void
  onBatch?: BatchListener
}

/** Told how many jobs travel together, when they leave the queue. */
export type BatchListener = (size: number) => void

/** A queue that has not been empty for this long does not take a burst, it stands. */
const STANDING_MS = 1000
const TELL_EVERY_MS = 10_000
/** How much the last batch says of what a job takes. */
const WEIGHT = 0.1

/** Jobs pushed in one turn of the event loop travel together; an idle lane adds no delay, a busy one gets batches. */
export class Lane<J, R> {
  readonly stats: LaneStats = { waiting: 0, running: 0, jobs: 0, batches: 0, refused: 0, busy_ms: 0 }
  private readonly options: LaneOptions<J, R>
  private queue: Waiting<J, R>[] = []
  private scheduled = false
  private idle: (() => void)[] = []
  /** Since when the queue is not empty; of no meaning when it is. */
  private standsSinceMs = 0
  private toldMs = Number.NEGATIVE_INFINITY
  /** What a job takes, all workers together. */
  private jobMs = 0

  /** Made once: under overload it is most of what is done. */
  private readonly full: OAuthError

  constructor(options: LaneOptions<J, R>) {
    this.options = options
    this.full = unavailable('the service is overloaded', { reason: `${options.name}_lane_full` })
  }

  /** Whether the next job would be refused. */
  get isFull(): boolean {
    const { workers, maxBatch, maxQueue, maxWaitMs } = this.options
    const waiting = this.queue.length
    if (waiting < workers * maxBatch) return waiting >= maxQueue
    const stands = maxWaitMs !== undefined && performance.now() - this.standsSinceMs > STANDING_MS
    return waiting >= (stands ? Math.min(maxQueue, maxWaitMs / this.jobMs) : maxQueue)
  }

  /** Queues a job. Rejects with 503 when the lane is full. */
  push(job: J, onBatch?: BatchListener): Promise<R> {
    if (this.isFull) return Promise.reject(this.refusal())
    if (this.queue.length === 0) this.standsSinceMs = performance.now()
    return new Promise((resolve, reject) => {
      this.queue.push({ job, resolve, reject, onBatch })
      this.stats.waiting = this.queue.length
      if (this.scheduled || this.stats.running >= this.options.workers) return
      this.scheduled = true
      setImmediate(this.flush)
    })
  }

  /** Counts a job that is not taken, and says why: 503. */
  refusal(): OAuthError {
    this.stats.refused++
    const nowMs = performance.now()
    if (nowMs - this.toldMs > TELL_EVERY_MS) {
      this.toldMs = nowMs
      this.options.onRefusal?.(this.queue.length)
    }
    return this.full
  }

  /** Resolves when nothing waits and nothing runs. */
  async drained(): Promise<void> {
    if (this.queue.length || this.stats.running) await new Promise<void>((resolve) => this.idle.push(resolve))
  }

  private readonly flush = (): void => {
    this.scheduled = false
    while (this.queue.length && this.stats.running < this.options.workers) {
      const share = Math.ceil(this.queue.length / (this.options.workers - this.stats.running))
      void this.dispatch(this.take(Math.min(share, this.options.maxBatch)))
    }
    if (!this.queue.length && !this.stats.running) for (const resolve of this.idle.splice(0)) resolve()
  }

  private take(count: number): Waiting<J, R>[] {
    const batch = this.queue
    this.queue = batch.splice(count)
    this.stats.waiting = this.queue.length
    return batch
  }

  private async dispatch(batch: Waiting<J, R>[]): Promise<void> {
    this.stats.running++
    this.stats.batches++
    this.stats.jobs += batch.length
    const startedMs = performance.now()
    for (const { onBatch } of batch) onBatch?.(batch.length)
    try {
      const outcomes = await this.options.run(batch.map((waiting) => waiting.job))
      batch.forEach((waiting, i) => {
        const outcome = outcomes[i]
        if (outcome && 'value' in outcome) waiting.resolve(outcome.value)
        else waiting.reject(outcome?.error ?? new Error(`the ${this.options.name} lane lost a job`))
      })
    } catch (error) {
      for (const waiting of batch) waiting.reject(error)
    } finally {
      const tookMs = performance.now() - startedMs
      this.stats.busy_ms += tookMs
      const jobMs = tookMs / batch.length / this.options.workers
      this.jobMs += (this.jobMs === 0 ? 1 : WEIGHT) * (jobMs - this.jobMs)
      this.stats.running--
      this.flush()
    }
  }
}
