// A pool of worker threads, and its orderly shutdown.
import { Piscina } from 'piscina'
import { programFile } from './paths.ts'
import { withTimeout } from './timeout.ts'

export interface ThreadsOptions {
  /** The name of the file in `workers/`, and of the threads in the log. */
  name: string
  /** Threads that start at once and stay. With 0 they start with the first task. */
  min: number
  max: number
  /** Idle threads beyond `min` end after this many milliseconds. */
  idleMs?: number
  /** Whether a busy thread accepts the next task in advance. Otherwise another thread is started for it. */
  ahead?: boolean
  /** The data that each thread receives when it starts. */
  workerData?: unknown
}
/** Logs the error of a thread that failed. */
export interface ThreadLog {
  error(fields: object, message: string): void
}
export interface Threads {
  /** Rejects when the thread fails. The task may then be completed or not. */
  run(task: unknown): Promise<unknown>
  /** Terminates the threads. Tasks in progress are lost, so wait for them first. */
  close(): Promise<void>
}

/** Longer than any thread needs to load. A thread that hangs is terminated after this time. */
const LOADING_MS = 10_000

/** Starts the threads. One that fails is logged and replaced. */
export function openThreads({ name, min, max, idleMs, ahead, workerData }: ThreadsOptions, log: ThreadLog): Threads {
  const pool = new Piscina({
    filename: programFile(name),
    minThreads: min,
    maxThreads: max,
    idleTimeout: idleMs ?? Number.POSITIVE_INFINITY,
    concurrentTasksPerWorker: ahead ? 2 : 1,
    recordTiming: false,
    workerData,
  })
  pool.on('error', (error) => log.error({ err: error }, `a ${name} thread failed and is replaced`))
  const loaded = new Set<number>()
  let onLoaded = () => {}
  const add = (id: number) => {
    loaded.add(id)
    onLoaded()
  }
  // For the pool, the first threads are ready before they have loaded. The first message of a thread shows that it has loaded.
  const first = new Set(pool.threads.map(({ threadId }) => threadId))
  for (const thread of pool.threads) thread.once('message', () => add(thread.threadId))
  pool.on('workerCreate', ({ id }) => {
    if (!first.has(id)) add(id)
  })
  pool.on('workerDestroy', () => onLoaded())

  /** Node 20 aborts the whole process when a thread is terminated while it loads its modules. */
  const allLoaded = () =>
    new Promise<void>((resolve) => {
      onLoaded = () => {
        if (pool.threads.every(({ threadId }) => loaded.has(threadId))) resolve()
      }
      onLoaded()
    })
  return {
    run: (task) => pool.run(task),
    async close() {
      await withTimeout(LOADING_MS, allLoaded())
      await pool.destroy()
    },
  }
}
