// A pool of worker threads, and its orderly shutdown.
import { createRequire } from 'node:module'
import type * as Pools from 'piscina'
import { programFile } from './paths.ts'
import { ThreadPort } from './thread_port.ts'
import { withTimeout } from './timeout.ts'

export interface ThreadsOptions {
  /** The name of the file in `workers/`, and of the threads in the log. */
  name: string
  /** Threads that start at once and stay. With 0 they start with the first task. */
  min: number
  max: number
  /** Idle threads beyond `min` end after this many milliseconds. Threads without it stay, and their file exports answerCalls(). */
  idleMs?: number
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

/** Not imported: Node would first search the files for the names that they export, which delays the start by 15 ms. */
const { Piscina } = createRequire(import.meta.url)('piscina') as typeof Pools

/** Longer than any thread needs to load. A thread that hangs is terminated after this time. */
const LOADING_MS = 10_000

/** Starts the threads. One that fails is logged and replaced. */
export function openThreads({ name, min, max, idleMs, workerData }: ThreadsOptions, log: ThreadLog): Threads {
  const pool = new Piscina({
    filename: programFile(name),
    minThreads: min,
    maxThreads: max,
    idleTimeout: idleMs ?? Number.POSITIVE_INFINITY,
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
    run: idleMs === undefined ? callThreads(pool, max) : (task) => pool.run(task),
    async close() {
      await withTimeout(LOADING_MS, allLoaded())
      await pool.destroy()
    },
  }
}

/** Calls the threads of a pool over ports. A busy thread gets the next call in advance when every thread is busy. */
function callThreads(pool: Pools.Piscina, max: number): Threads['run'] {
  const ports = new Set<ThreadPort>()
  const open = () => {
    const port = new ThreadPort()
    ports.add(port)
    pool.run(port.end, { transferList: [port.end.port] }).catch((error) => {
      ports.delete(port)
      port.close(error)
    })
    return port
  }
  return (input) => {
    let least: ThreadPort | undefined
    for (const port of ports) if (!least || port.waiting < least.waiting) least = port
    return (least && (least.waiting === 0 || ports.size === max) ? least : open()).call(input)
  }
}
