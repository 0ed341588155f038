// The calls to one worker thread, and their answers. A task of the pool would cost both threads about 30 us more.
import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads'

/** What a thread receives as its only task. */
interface ThreadEnd {
  port: MessagePort
  /** One cell: the number of calls that were sent. The thread sleeps until it changes. */
  sent: Int32Array
}
type Answer = { value: unknown } | { error: unknown }
interface Caller {
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}

/** The calling end. The thread answers calls in their order. */
export class ThreadPort {
  readonly end: ThreadEnd
  private readonly port: MessagePort
  private readonly callers: Caller[] = []

  constructor() {
    const { port1, port2 } = new MessageChannel()
    this.port = port1
    this.end = { port: port2, sent: new Int32Array(new SharedArrayBuffer(4)) }
    port1.on('message', (answer: Answer) => {
      const caller = this.callers.shift()
      if ('error' in answer) caller?.reject(answer.error)
      else caller?.resolve(answer.value)
    })
  }

  /** The number of calls without an answer. */
  get waiting(): number {
    return this.callers.length
  }

  /** Sends a call. Rejects with the error of the thread, or when the thread has ended. */
  call(input: unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.port.postMessage(input)
      this.callers.push({ resolve, reject })
      Atomics.add(this.end.sent, 0, 1)
      Atomics.notify(this.end.sent, 0)
    })
  }

  /** Fails the calls without an answer. */
  close(reason: unknown): void {
    this.port.close()
    for (const { reject } of this.callers.splice(0)) reject(reason)
  }
}

/** The task of a thread that answers calls with `answer` until the thread is terminated. The thread does nothing else: it blocks between two calls. */
export const answerCalls =
  (answer: (input: never) => unknown) =>
  ({ port, sent }: ThreadEnd): never => {
    for (;;) {
      const before = Atomics.load(sent, 0)
      for (let call = receiveMessageOnPort(port); call; call = receiveMessageOnPort(port))
        port.postMessage(answerTo(answer, call.message as never))
      Atomics.wait(sent, 0, before)
    }
  }

function answerTo(answer: (input: never) => unknown, input: never): Answer {
  try {
    return { value: answer(input) }
  } catch (error) {
    return { error }
  }
}
