// The one concurrency primitive: a bounded queue that turns whatever waits into one batch for a worker.
import { type OAuthError, overloaded } from './error.ts'

/** What became of one job of a batch. The value may be a promise: of a job that the others do not wait for. */
export type Outcome<R> = { value: R } | { error: unknown }

export interface LaneOptions<J, R> {
  name: string
  /** How many batches may be worked on at once. */
  workers: number
  /** Whether a worker is given a full batch while it still has one, so that it need not wait for the thread that gives it out. */
  ahead?: boolean
  /** Most jobs in one batch. */
  maxBatch: number
  /** What a batch may take at most, in milliseconds, so that the jobs behind it are not late; not bounded when missing. */
  batchMs?: number
  /** What an idle worker is given before the turn of the event loop ends, in milliseconds of work; nothing when missing: where a batch costs what it costs, however small it is. */
  eagerMs?: number
  /** Most jobs waiting; the next one is refused at once. */
  maxQueue: number
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

/** How much the last batch says of what a job takes. */
const WEIGHT = 0.1

/** Jobs pushed in one turn of the event loop travel together; an idle lane adds no delay, a busy one gets batches. */
export class Lane<J, R> {
  readonly stats = newStats()
  private readonly options: LaneOptions<J, R>
  private queue: Waiting<J, R>[] = []
  private scheduled = false
  private idle: (() => void)[] = []
  /** What a job takes. */
  private jobMs = 0
  /** When the workers began what they do now. */
  private sinceMs = 0

  /** Made once: under overload it is most of what is done. */
  private readonly full: OAuthError

  constructor(options: LaneOptions<J, R>) {
    this.options = options
    this.full = overloaded(`${options.name}_lane`)
  }

  /** Milliseconds that a worker has worked, about: what it does at this moment counts too. */
  busyMs(): number {
    const { busy_ms, running } = this.stats
    const { workers } = this.options
    const unheardMs = running > 0 ? performance.now() - this.sinceMs : 0
    return (busy_ms + Math.min(running, workers) * unheardMs) / workers
  }

  /** Most jobs of the next batch. */
  private get batchSize(): number {
    const { maxBatch, batchMs } = this.options
    return batchMs ? Math.max(1, Math.min(maxBatch, Math.floor(this.jobsIn(batchMs)))) : maxBatch
  }

  /** Jobs that leave before the end of the turn: a full batch, or what is worth one for an idle worker. */
  private get worth(): number {
    const { workers, eagerMs } = this.options
    const { batchSize } = this
    return eagerMs && this.stats.running < workers ? Math.min(batchSize, this.jobsIn(eagerMs)) : batchSize
  }

  /** Jobs that one worker does in a time, by what the last ones took; any number while nothing is known. */
  private jobsIn(ms: number): number {
    return ms / this.jobMs
  }

  /** The refusal of the next job, 503, when the queue is full; counts it. */
  refusal(): OAuthError | undefined {
    if (this.queue.length < this.options.maxQueue) return undefined
    this.stats.refused++
    return this.full
  }

  /** Queues a job. Rejects with 503 when the lane is full. */
  push(job: J, onBatch?: BatchListener): Promise<R> {
    return new Promise((resolve, reject) => {
      const refusal = this.refusal()
      if (refusal) return reject(refusal)
      this.queue.push({ job, resolve, reject, onBatch })
      this.stats.waiting = this.queue.length
      // Under a crowd a turn takes long, a second at worst: neither a full batch nor an idle worker waits for its end.
      if (this.queue.length >= this.worth && this.hasRoom) void this.dispatch(this.take(this.batchSize))
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
    const startedMs = performance.now()
    if (this.stats.running++ === 0) this.sinceMs = startedMs
    this.stats.batches++
    this.stats.jobs += batch.length
    let workedMs: number | undefined
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
      this.sinceMs = performance.now()
      const tookMs = workedMs ?? this.sinceMs - startedMs
      this.stats.busy_ms += tookMs
      const jobMs = tookMs / batch.length
      this.jobMs += (this.jobMs === 0 ? 1 : WEIGHT) * (jobMs - this.jobMs)
      this.stats.running--
      this.flush()
    }
  }
}
