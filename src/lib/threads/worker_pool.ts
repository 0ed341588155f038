// Pools of worker threads that run a function (Piscina): threads start when they are needed, and one that fails or hangs is replaced.
import { Piscina } from 'piscina'
import { programFile } from '../paths.ts'
import { withTimeout } from '../timeout.ts'
import { Lane } from './lane.ts'

export interface WorkerPoolOptions<R> {
  /** The name of the threads in the log, of their queue, and of the file in `workers/` unless `file` is given. */
  name: string
  /** A built file that exports the function `run`. */
  file?: string
  /** Maximum number of threads. */
  max: number
  /** Number of tasks that a thread receives at once, 1 if missing. The thread begins the next one without waiting for this thread. */
  tasks?: number
  /** Maximum number of tasks that wait for a thread. Further tasks are refused with 503. Unbounded if missing. */
  maxQueue?: number
  /** The milliseconds that a task took in its thread, as its result says. Without it the time until the result came counts as work. */
  msOf?: (result: R) => number
  /** A thread ends this many milliseconds after its last task. Without it threads stay. */
  idleMs?: number
  /** A task without a result this many milliseconds after its turn began hangs. The time in which it waits for other tasks does not count. */
  hangMs?: number
}
/** Logs the error of a thread that failed. */
export interface ThreadLog {
  error(fields: object, message: string): void
}

/** Longer than any thread needs to load. */
const LOADING_MS = 10_000
/** Longer than any task takes on a machine that does much else. */
const HANG_MS = 30_000
/** A thread that needs more memory than this (MiB) is replaced. A crypto thread with all its keys needs a tenth. */
const HEAP_MB = 256

/** Prepares a pool. The first task starts its first thread. Errors of threads are logged. */
export function openWorkerPool<T, R>(options: WorkerPoolOptions<R>, log: ThreadLog) {
  const {
    name,
    file = programFile(name),
    max,
    tasks = 1,
    maxQueue = Number.POSITIVE_INFINITY,
    msOf,
    idleMs = Number.POSITIVE_INFINITY,
    hangMs = HANG_MS,
  } = options
  const pool = new Piscina<T, R>({
    filename: file,
    name: 'run',
    minThreads: 0,
    maxThreads: max,
    concurrentTasksPerWorker: tasks,
    idleTimeout: idleMs,
    recordTiming: false,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
  })
  const failed = (err: unknown) => log.error({ err }, `a ${name} thread failed and is replaced`)
  const loaded = watchThreads(pool)
  pool.on('error', failed)

  // Piscina has no limit of time except for an AbortSignal, and a thread gets no second task beside one with a signal.
  async function runInTurn(task: T): Promise<R> {
    const timer = setTimeout(() => {
      log.error({ after_ms: hangMs }, `a ${name} thread hangs, and all ${name} threads are replaced`)
      for (const thread of pool.threads) void thread.terminate()
    }, hangMs)
    try {
      return await pool.run(task)
    } catch (error) {
      failed(error)
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  /** Tasks have their turn in the order in which they came. The queue of Piscina lets later tasks overtake. */
  const lane = new Lane<T, R>({
    name,
    workers: max * tasks,
    maxBatch: 1,
    maxQueue,
    async run([task], worked) {
      const value = await runInTurn(task as T)
      if (msOf) worked(msOf(value))
      return [{ value }]
    },
  })
  return {
    /** Whether a thread has loaded, so that a task need not wait for it. */
    isLoaded: () => loaded.size > 0,
    stats: lane.stats,
    /** Number of tasks without a result. */
    unfinished: () => lane.stats.waiting + lane.stats.running,
    /** Runs the function with a task. Rejects when it throws, and when its thread fails or hangs: the task may then be completed or not. */
    run: (task: T): Promise<R> => lane.push(task),
    /** Terminates the threads when they have completed their tasks. */
    async close(): Promise<void> {
      await lane.drained()
      await withTimeout(LOADING_MS, untilLoaded(pool, loaded))
      await pool.destroy()
    },
  }
}

/** The ids of the threads that have loaded. When the last thread has ended, Piscina starts no other one for the tasks that wait until the next task comes. */
function watchThreads(pool: Piscina): ReadonlySet<number> {
  const loaded = new Set<number>()
  const update = () => {
    const [{ length }, had] = [pool.threads, loaded.size > 0]
    for (const id of loaded) if (!pool.threads.some(({ threadId }) => threadId === id)) loaded.delete(id)
    if (length > 0 || pool.queueSize === 0) return
    // A thread that cannot even load would only fail again.
    if (had) void pool.run(undefined).catch(() => {})
    else void pool.destroy()
  }
  pool.on('workerCreate', ({ id }: { id: number }) => loaded.add(id))
  pool.on('workerDestroy', () => queueMicrotask(update))
  return loaded
}

/** Resolves when no thread is loading: Node 20 aborts the whole process when a thread is terminated while it loads its modules. */
async function untilLoaded(pool: Piscina, loaded: ReadonlySet<number>): Promise<void> {
  while (pool.threads.some(({ threadId }) => !loaded.has(threadId)))
    await new Promise<void>((changed) => {
      pool.once('workerCreate', () => changed())
      pool.once('workerDestroy', () => changed())
    })
}
