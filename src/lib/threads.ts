// Worker threads that answer calls: they start when they are needed, the next call replaces one that failed, and close() ends them.
import { programFile } from './paths.ts'
import { Thread } from './thread.ts'

export interface ThreadsOptions {
  /** The name of the file in `workers/`, and of the threads in the log. */
  name: string
  max: number
  /** A thread ends this many milliseconds after its last call. Without it threads stay. */
  idleMs?: number
  /** The data that each thread receives when it starts. */
  workerData?: object
}
/** Logs the error of a thread that failed. */
export interface ThreadLog {
  error(fields: object, message: string): void
}
export interface Threads {
  /** Whether a thread has loaded, so that a call need not wait for it. */
  isLoaded(): boolean
  /** Starts the first thread, unless there is one. Without it, the first call does. */
  start(): void
  /** Calls the thread with the fewest calls, and starts another one when all are busy. Rejects when the thread fails: the call may then be completed or not. */
  run(input: unknown): Promise<unknown>
  /** Terminates the threads. Calls in progress are lost, so wait for them first. */
  close(): Promise<void>
}

/** Prepares threads. The error of one that fails is logged. */
export function openThreads({ name, max, idleMs, workerData }: ThreadsOptions, log: ThreadLog): Threads {
  const threads = new Set<Thread>()
  const ending = new Set<Promise<void>>()
  const idleTimers = new WeakMap<Thread, NodeJS.Timeout>()

  function start(): Thread {
    const thread = new Thread(programFile(name), workerData)
    threads.add(thread)
    void thread.ended.then((reason) => {
      if (threads.delete(thread)) log.error({ err: reason }, `a ${name} thread failed and is replaced`)
    })
    return thread
  }

  function end(thread: Thread): void {
    threads.delete(thread)
    clearTimeout(idleTimers.get(thread))
    const done = thread.end().finally(() => ending.delete(done))
    ending.add(done)
  }

  function endWhenIdle(thread: Thread): void {
    clearTimeout(idleTimers.get(thread))
    const timer = setTimeout(() => thread.waiting === 0 && end(thread), idleMs)
    idleTimers.set(thread, timer.unref())
  }

  return {
    isLoaded: () => best(threads)?.isLoaded ?? false,
    start() {
      if (threads.size === 0) start()
    },
    run(input) {
      let thread = best(threads)
      if (!thread || (thread.waiting > 0 && threads.size < max)) {
        const another = start()
        thread ??= another
      }
      const answer = thread.call(input)
      const called = thread
      if (idleMs !== undefined) void answer.catch(() => {}).then(() => endWhenIdle(called))
      return answer
    },
    async close() {
      for (const thread of threads) end(thread)
      await Promise.all(ending)
    },
  }
}

/** The thread for the next call. A thread that has loaded comes first: a call would wait longer for the modules of another one than for its turn. */
function best(threads: Iterable<Thread>): Thread | undefined {
  let found: Thread | undefined
  for (const thread of threads)
    if (!found || (thread.isLoaded === found.isLoaded ? thread.waiting < found.waiting : thread.isLoaded))
      found = thread
  return found
}
