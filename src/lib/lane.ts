// The one concurrency primitive: a bounded queue that turns whatever waits into one batch for a worker.
import { unavailable } from './error.ts'

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

/** Jobs pushed in one turn of the event loop travel together; an idle lane adds no delay, a busy one gets batches. */
export class Lane<J, R> {
  readonly stats: LaneStats = { waiting: 0, running: 0, jobs: 0, batches: 0, refused: 0, busy_ms: 0 }
  private readonly options: LaneOptions<J, R>
  private queue: Waiting<J, R>[] = []
  private scheduled = false
  private idle: (() => void)[] = []

  constructor(options: LaneOptions<J, R>) {
    this.options = options
  }

  /** Queues a job. Rejects with 503 when the lane is full. */
  push(job: J, onBatch?: BatchListener): Promise<R> {
    if (this.queue.length >= this.options.maxQueue) {
      this.stats.refused++
      return Promise.reject(unavailable(`the service is overloaded`, { reason: `${this.options.name}_lane_full` }))
    }
    return new Promise((resolve, reject) => {
      this.queue.push({ job, resolve, reject, onBatch })
      this.stats.waiting = this.queue.length
      if (this.scheduled || this.stats.running >= this.options.workers) return
      this.scheduled = true
      setImmediate(this.flush)
    })
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
      this.stats.busy_ms += performance.now() - startedMs
      this.stats.running--
      this.flush()
    }
  }
}
