// The storage thread: calls to it, their answers, and its end. It sleeps between two calls in Atomics.wait: a task of a pool of threads
// would cost both threads about 30 us more.
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker, workerData } from 'node:worker_threads'
import type { ThreadLog } from '../lib/threads/worker_pool.ts'
import { withTimeout } from '../lib/timeout.ts'

/** The other end of the calls, in the worker data of a thread. */
interface Calls {
  port: MessagePort
  /** One cell: the number of calls that were sent. The thread sleeps until it changes. */
  sent: Int32Array
}
type Answer = { value: unknown } | { error: unknown }
interface Caller {
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}

/** Longer than any thread needs to load. A thread that hangs is terminated after this time. */
const LOADING_MS = 10_000

/** A running thread, as its caller sees it. It answers calls in their order. */
export class Thread {
  /** Whether the thread has loaded its modules. */
  isLoaded = false
  /** Resolves with the reason when the thread has ended. */
  readonly ended: Promise<unknown>
  private readonly worker: Worker
  private readonly port: MessagePort
  private readonly sent = new Int32Array(new SharedArrayBuffer(4))
  private readonly callers: Caller[] = []
  private readonly loaded: Promise<void>

  /** Starts a thread on a file that calls answerCalls(). */
  constructor(file: string, data: object = {}) {
    const { port1, port2 } = new MessageChannel()
    const calls: Calls = { port: port2, sent: this.sent }
    this.port = port1
    this.worker = new Worker(file, { workerData: { ...data, calls }, transferList: [port2] })
    this.loaded = new Promise((loaded) => {
      // The first message says that the thread has loaded.
      port1.once('message', () => {
        this.isLoaded = true
        port1.on('message', (answer: Answer) => this.take(answer))
        loaded()
      })
    })
    this.ended = this.watch()
  }

  /** Sends a call. Rejects with the error of the thread, or when the thread has ended. */
  call(input: unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.port.postMessage(input)
      this.callers.push({ resolve, reject })
      Atomics.add(this.sent, 0, 1)
      Atomics.notify(this.sent, 0)
    })
  }

  /** Terminates the thread when it has loaded: Node 20 aborts the whole process when a thread is terminated while it loads its modules. */
  async end(): Promise<void> {
    await withTimeout(LOADING_MS, Promise.race([this.loaded, this.ended]))
    await this.worker.terminate()
  }

  private take(answer: Answer): void {
    const caller = this.callers.shift()
    if ('error' in answer) caller?.reject(answer.error)
    else caller?.resolve(answer.value)
  }

  /** Fails the calls without an answer when the thread ends. */
  private async watch(): Promise<unknown> {
    const reason = await new Promise((ended) => {
      this.worker.once('error', ended)
      this.worker.once('exit', (code) => ended(new Error(`the thread has ended with code ${code}`)))
    })
    this.port.close()
    for (const { reject } of this.callers.splice(0)) reject(reason)
    return reason
  }
}

export type ReplacedThread = ReturnType<typeof startThread>

/** Starts a thread. If it fails, the error is logged, and the next call starts another one. */
export function startThread(file: string, data: object, log: ThreadLog) {
  let current: Thread | undefined
  const start = () => {
    const thread = new Thread(file, data)
    void thread.ended.then((reason) => {
      if (current !== thread) return
      current = undefined
      log.error({ err: reason }, 'the storage thread failed and is replaced')
    })
    current = thread
    return thread
  }
  start()
  return {
    /** Calls the thread. Rejects when it fails: the call may then be completed or not. */
    call: (input: unknown) => (current ?? start()).call(input),
    /** Terminates the thread. Calls in progress are lost, so wait for them first. */
    async close(): Promise<void> {
      const last = current
      current = undefined
      await last?.end()
    },
  }
}

/** Answers calls with `answer` until the thread is terminated. The thread does nothing else: it blocks between two calls. */
export function answerCalls(answer: (input: never) => unknown): void {
  const { port, sent } = (workerData as { calls: Calls }).calls
  // Not in this turn: the modules of the thread must have loaded before it blocks.
  setImmediate(() => {
    port.postMessage('loaded')
    for (;;) {
      const before = Atomics.load(sent, 0)
      for (let call = receiveMessageOnPort(port); call; call = receiveMessageOnPort(port))
        port.postMessage(answerTo(answer, call.message as never))
      Atomics.wait(sent, 0, before)
    }
  })
}

function answerTo(answer: (input: never) => unknown, input: never): Answer {
  try {
    return { value: answer(input) }
  } catch (error) {
    return { error }
  }
}
