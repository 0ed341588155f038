// The one concurrency primitive: a bounded queue that sends waiting jobs to workers in batches.
import { type OAuthError, overloaded } from '../error.ts'

/** The outcome of one job of a batch. The value may be the promise of a job that the rest of the batch does not wait for. */
export type Outcome<R> = { value: R } | { error: unknown }

export interface LaneOptions<J, R> {
  name: string
  /** Maximum number of concurrent batches. */
  workers: number
  /** Number of full batches that a busy worker receives in advance, so that it need not wait for the dispatching thread. None when missing. */
  ahead?: number
  /** Maximum number of jobs in one batch. */
  maxBatch: number
  /** Maximum duration of a batch in milliseconds, so that the following jobs are not delayed; unbounded when missing. */
  batchMs?: number
  /** The work in milliseconds that is dispatched to an idle worker before the turn of the event loop ends. Missing for work whose batches cost the same at any size: then nothing is dispatched early. */
  eagerMs?: number
  /** Runs up to `jobs` jobs on the dispatching thread when no worker is busy and they take at most `ms` milliseconds: waking a worker costs more. */
  here?: { jobs: number; ms: number; run(jobs: J[]): Outcome<R>[] }
  /** Maximum number of waiting jobs. Further jobs are refused at once. */
  maxQueue: number
  /**
   * Runs a batch. The outcomes are in the order of the jobs. A rejection fails every job of the batch. `worked` receives the time
   * that the worker needed, which is less than the time until the result arrives.
   */
  run(jobs: J[], worked: (ms: number) => void): Promise<Outcome<R>[]>
  /** Receives the stages of each batch. */
  onStage?: StageListener | undefined
}

/**
 * Where the time of a batch goes: its first job waits for the dispatch (`waiting`), a worker works on it (`working`), and the rest is the way to the
 * worker and back (`crossing`), behind the batch before it and behind other work of the dispatching thread.
 */
export type LaneStage = 'waiting' | 'working' | 'crossing'
/** Called with the seconds of each stage of each batch, and the name of its lane. */
export type StageListener = (lane: string, stage: LaneStage, seconds: number) => void

export interface LaneStats {
  waiting: number
  running: number
  jobs: number
  batches: number
  refused: number
  /** The total duration of all batches of all workers in milliseconds. With one worker it is its busy time. */
  busy_ms: number
}

/** Initial statistics, all zero. */
export const newStats = (): LaneStats => ({ waiting: 0, running: 0, jobs: 0, batches: 0, refused: 0, busy_ms: 0 })

interface Waiting<J, R> {
  job: J
  resolve: (value: R) => void
  reject: (error: unknown) => void
  onBatch?: BatchListener
  pushedMs: number
}

/** Called with the size of the batch when its jobs leave the queue. */
export type BatchListener = (size: number) => void

/** Weight of the last batch in the moving average of the duration of a job. */
const WEIGHT = 0.1

/** Jobs that are pushed in one turn of the event loop form a batch. An idle lane adds no delay; a busy lane forms larger batches. */
export class Lane<J, R> {
  readonly stats = newStats()
  private readonly options: LaneOptions<J, R>
  private queue: Waiting<J, R>[] = []
  private scheduled = false
  private idle: (() => void)[] = []
  /** The average duration of a job. */
  private jobMs = 0
  /** The start times of the batches in progress. */
  private sinceMs = 0

  /** Created once, because under overload this is most of the work. */
  private readonly full: OAuthError

  constructor(options: LaneOptions<J, R>) {
    this.options = options
    this.full = overloaded(`${options.name}_lane`)
  }

  /** Approximate working time per worker in milliseconds, including the batches in progress. */
  busyMs(): number {
    const { busy_ms, running } = this.stats
    const { workers } = this.options
    const unheardMs = running > 0 ? performance.now() - this.sinceMs : 0
    return (busy_ms + Math.min(running, workers) * unheardMs) / workers
  }

  /** Maximum number of jobs in the next batch. */
  private get batchSize(): number {
    const { maxBatch, batchMs } = this.options
    return batchMs ? Math.max(1, Math.min(maxBatch, Math.floor(this.jobsIn(batchMs)))) : maxBatch
  }

  /** Number of jobs that are dispatched before the end of the turn: a full batch, or enough work for an idle worker. */
  private get worth(): number {
    const { workers, eagerMs } = this.options
    const { batchSize } = this
    return eagerMs && this.stats.running < workers ? Math.min(batchSize, this.jobsIn(eagerMs)) : batchSize
  }

  /** Number of jobs that one worker completes in a time, by the average duration; unbounded before the first measurement. */
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
      this.queue.push({ job, resolve, reject, onBatch, pushedMs: performance.now() })
      this.stats.waiting = this.queue.length
      // Under overload a turn may take up to a second: neither a full batch nor an idle worker waits for its end.
      if (this.queue.length >= this.worth && this.hasRoom) void this.dispatch(this.take(this.batchSize))
      else if (!this.scheduled && this.stats.running < this.options.workers) {
        this.scheduled = true
        setImmediate(this.flush)
      }
    })
  }

  /** Resolves when no job waits or runs. */
  async drained(): Promise<void> {
    if (this.queue.length || this.stats.running) await new Promise<void>((resolve) => this.idle.push(resolve))
  }

  private readonly flush = (): void => {
    this.scheduled = false
    if (this.isQuick) void this.dispatch(this.take(this.queue.length), this.options.here)
    for (let size = this.nextSize; size > 0; size = this.nextSize) void this.dispatch(this.take(size))
    if (!this.queue.length && !this.stats.running) for (const resolve of this.idle.splice(0)) resolve()
  }

  /** Number of jobs that can be dispatched now: idle workers share the waiting jobs; a busy worker gets a full batch or nothing. */
  private get nextSize(): number {
    const { batchSize, queue } = this
    const idle = this.options.workers - this.stats.running
    if (idle > 0) return Math.min(Math.ceil(queue.length / idle), batchSize)
    return this.hasRoom && queue.length >= batchSize ? batchSize : 0
  }

  /** Whether the waiting jobs are run on this thread. The first jobs are not: their duration is unknown. */
  private get isQuick(): boolean {
    const { here } = this.options
    if (!here || this.stats.running > 0 || this.jobMs === 0) return false
    const { length } = this.queue
    return length > 0 && length <= Math.min(here.jobs, this.jobsIn(here.ms))
  }

  /** Whether a worker can accept a full batch. */
  private get hasRoom(): boolean {
    const { workers, ahead = 0 } = this.options
    return this.stats.running < workers * (1 + ahead)
  }

  private take(count: number): Waiting<J, R>[] {
    const batch = this.queue
    this.queue = batch.splice(count)
    this.stats.waiting = this.queue.length
    return batch
  }

  private async dispatch(batch: Waiting<J, R>[], here?: LaneOptions<J, R>['here']): Promise<void> {
    const startedMs = performance.now()
    if (this.stats.running++ === 0) this.sinceMs = startedMs
    this.stats.batches++
    this.stats.jobs += batch.length
    const waitedMs = startedMs - (batch[0]?.pushedMs ?? startedMs)
    let workedMs: number | undefined
    for (const { onBatch } of batch) onBatch?.(batch.length)
    try {
      const jobs = batch.map((waiting) => waiting.job)
      const worked = (ms: number) => {
        workedMs = ms
      }
      const outcomes = here ? here.run(jobs) : await this.options.run(jobs, worked)
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
      this.noteStages(waitedMs, tookMs, this.sinceMs - startedMs - tookMs)
      this.stats.busy_ms += tookMs
      const jobMs = tookMs / batch.length
      this.jobMs += (this.jobMs === 0 ? 1 : WEIGHT) * (jobMs - this.jobMs)
      this.stats.running--
      this.flush()
    }
  }

  private noteStages(waitedMs: number, workedMs: number, crossedMs: number): void {
    const { name, onStage } = this.options
    onStage?.(name, 'waiting', waitedMs / 1000)
    onStage?.(name, 'working', workedMs / 1000)
    if (crossedMs > 0) onStage?.(name, 'crossing', crossedMs / 1000)
  }
}
