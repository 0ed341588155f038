// The one concurrency primitive: a bounded queue that turns whatever waits into one batch for a worker.
import { overloaded } from './error.ts'

/** What became of one job of a batch. */
export type Outcome<R> = { value: R } | { error: unknown }

export interface LaneOptions<J, R> {
  name: string
  /** How many batches may be worked on at once. */
  workers: number
  /** Whether a worker is given a full batch while it still has one, so that it need not wait for the thread that gives it out. */
  ahead?: boolean
  /** Most jobs in one batch. */
  maxBatch: number
  /** Most jobs waiting; the next one is refused at once. */
  maxQueue: number
  /**
   * A burst may fill the whole queue. When there is no pause any more, only so many jobs are taken as are done in `ms`
   * milliseconds: all that are admitted would be late. `least` are always taken, as on a machine that is busy with something
   * else everything takes long, and never more than `most`. Not bounded when missing.
   */
  standing?: { ms: number; least: number; most: number }
  /**
   * Runs a batch; the outcomes are in the order of the jobs. A rejection fails every job of the batch. `worked` is told what
   * the batch took where it was worked on, which is less than until it is heard of.
   */
  run(jobs: J[], worked: (ms: number) => void): Promise<Outcome<R>[]>
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

/** Of a lane that nothing was asked of. */
export const newStats = (): LaneStats => ({ waiting: 0, running: 0, jobs: 0, batches: 0, refused: 0, busy_ms: 0 })

interface Waiting<J, R> {
  job: J
  resolve: (value: R) => void
  reject: (error: unknown) => void
  onBatch?: BatchListener
}

/** Told how many jobs travel together, when they leave the queue. */
export type BatchListener = (size: number) => void

/** A lane that has had no pause for this long does not take a burst, it stands. */
const STANDING_MS = 1000
/** How much the last batch says of what a job takes. */
const WEIGHT = 0.1
/** Of the time for a job, what the batch in front of it may take. */
const BATCH_SHARE = 1 / 3

/** Jobs pushed in one turn of the event loop travel together; an idle lane adds no delay, a busy one gets batches. */
export class Lane<J, R> {
  readonly stats = newStats()
  private readonly options: LaneOptions<J, R>
  private queue: Waiting<J, R>[] = []
  private scheduled = false
  private idle: (() => void)[] = []
  /** Since when there has been something to do without a break. */
  private busyMs = 0
  /** What a job takes, all workers together. */
  private jobMs = 0
  /** Jobs of the batches that run. */
  private underWay = 0

  /** Made once: under overload it is most of what is done. */
  private readonly full

  constructor(options: LaneOptions<J, R>) {
    this.options = options
    this.full = overloaded(`${options.name}_lane`)
  }

  /** Whether the next job would be refused. */
  get isFull(): boolean {
    const { workers, maxQueue, standing } = this.options
    const waiting = this.queue.length
    if (!standing || waiting < workers * this.batchSize) return waiting >= maxQueue
    if (performance.now() - this.busyMs <= STANDING_MS) return waiting >= maxQueue
    const { ms, least, most } = standing
    return waiting + this.underWay >= Math.max(least, Math.min(most, ms / this.jobMs))
  }

  /** Most jobs of the next batch. */
  private get batchSize(): number {
    const { workers, maxBatch, standing } = this.options
    if (!standing) return maxBatch
    return Math.max(1, Math.min(maxBatch, Math.floor((standing.ms * BATCH_SHARE) / (this.jobMs * workers))))
  }

  /** Throws the refusal of the next job, 503, when the lane is full; counts it. */
  checkRoom(): void {
    if (!this.isFull) return
    this.stats.refused++
    throw this.full
  }

  /** Queues a job. Rejects with 503 when the lane is full. */
  push(job: J, onBatch?: BatchListener): Promise<R> {
    return new Promise((resolve, reject) => {
      this.checkRoom()
      if (this.queue.length + this.underWay === 0) this.busyMs = performance.now()
      this.queue.push({ job, resolve, reject, onBatch })
      this.stats.waiting = this.queue.length
      // Under a crowd a turn takes long, a second at worst: a full batch does not wait for its end.
      if (this.queue.length >= this.batchSize && this.hasRoom) void this.dispatch(this.take(this.batchSize))
      else if (!this.scheduled && this.stats.running < this.options.workers) {
        this.scheduled = true
        setImmediate(this.flush)
      }
    })
  }

  /** Resolves when nothing waits and nothing runs. */
  async drained(): Promise<void> {
    if (this.queue.length || this.stats.running) await new Promise<void>((resolve) => this.idle.push(resolve))
  }

  private readonly flush = (): void => {
    this.scheduled = false
    for (let size = this.nextSize; size > 0; size = this.nextSize) void this.dispatch(this.take(size))
    if (!this.queue.length && !this.stats.running) for (const resolve of this.idle.splice(0)) resolve()
  }

  /** Jobs that can leave now: idle workers share what waits, one that is busy gets a full batch or nothing. */
  private get nextSize(): number {
    const { batchSize, queue } = this
    const idle = this.options.workers - this.stats.running
    if (idle > 0) return Math.min(Math.ceil(queue.length / idle), batchSize)
    return this.hasRoom && queue.length >= batchSize ? batchSize : 0
  }

  /** Whether a worker can be given a full batch. */
  private get hasRoom(): boolean {
    const { workers, ahead } = this.options
    return this.stats.running < (ahead ? 2 * workers : workers)
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
    this.underWay += batch.length
    let workedMs: number | undefined
    const startedMs = performance.now()
    for (const { onBatch } of batch) onBatch?.(batch.length)
    try {
      const outcomes = await this.options.run(
        batch.map((waiting) => waiting.job),
        (ms) => {
          workedMs = ms
        },
      )
      batch.forEach((waiting, i) => {
        const outcome = outcomes[i]
        if (outcome && 'value' in outcome) waiting.resolve(outcome.value)
        else waiting.reject(outcome?.error ?? new Error(`the ${this.options.name} lane lost a job`))
      })
    } catch (error) {
      for (const waiting of batch) waiting.reject(error)
    } finally {
      const tookMs = workedMs ?? performance.now() - startedMs
      this.stats.busy_ms += tookMs
      const jobMs = tookMs / batch.length / this.options.workers
      this.jobMs += (this.jobMs === 0 ? 1 : WEIGHT) * (jobMs - this.jobMs)
      this.stats.running--
      this.underWay -= batch.length
      this.flush()
    }
  }
}
