// Worker threads of one kind, and their orderly end.
import { Piscina } from 'piscina'
import { programFile } from './paths.ts'
import { withTimeout } from './timeout.ts'

export interface ThreadsOptions {
  /** Names the file in `workers/`, and the threads in the log. */
  name: string
  /** Threads that start at once and stay; 0 where they start with the first task. */
  min: number
  max: number
  /** Idle threads beyond `min` end after this many milliseconds. */
  idleMs?: number
  /** Whether a thread that is busy takes the next task already; else one more thread is started for it. */
  ahead?: boolean
  /** What each thread is given when it starts. */
  workerData?: unknown
}
/** Takes the error of a thread that failed. */
export interface ThreadLog {
  error(fields: object, message: string): void
}
export interface Threads {
  /** Rejects when the thread fails; the task may then have been done or not. */
  run(task: unknown): Promise<unknown>
  /** Ends the threads. What they still do is lost: wait for it first. */
  close(): Promise<void>
}

/** Longer than any thread needs to load; one that hangs is ended all the same. */
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
  // The first ones count as ready for the pool before they have loaded; what a thread says first is that it has.
  const first = new Set(pool.threads.map(({ threadId }) => threadId))
  for (const thread of pool.threads) thread.once('message', () => add(thread.threadId))
  pool.on('workerCreate', ({ id }) => {
    if (!first.has(id)) add(id)
  })
  pool.on('workerDestroy', () => onLoaded())

  /** Node 20 aborts the whole process when a thread is ended in the midst of loading its modules. */
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
