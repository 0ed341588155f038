// Remote procedure calls between two threads. Messages of one turn of the event loop are sent together.
import type { MessagePort, Worker } from 'node:worker_threads'
import { codeOf, type ErrorCode, OAuthError } from '../error.ts'

/** The methods of one side, by name; each has one input. */
export type RpcHandlers = Readonly<Record<string, (input: never) => unknown>>

interface Sent {
  /** [number of the call, or 0 for a call without an answer; method; input]. Optionally as JSON: one text is transferred several times faster than a list of objects. */
  asks?: [number, string, unknown][] | string
  /** [number of the call, result, or error]. */
  answers?: [number, unknown, Fault?][]
}
interface Fault {
  /** Of an OAuthError. */
  refused?: { code: ErrorCode; more: Omit<OAuthError['more'], 'cause'> }
  code?: string
  name: string
  message: string
  stack?: string
}
interface Waiting {
  resolve(value: unknown): void
  reject(error: unknown): void
}

export interface RpcOptions {
  /** Whether calls are sent as JSON; only if their inputs can be represented in JSON. */
  asText: boolean
}

/** One end of a connection. `Theirs` are the methods of the other end. */
export class RpcChannel<Theirs extends RpcHandlers> {
  private readonly port: MessagePort | Worker
  private readonly options: RpcOptions
  private readonly waiting = new Map<number, Waiting>()
  private last = 0
  private asks: [number, string, unknown][] = []
  private replies: [number, unknown, Fault?][] = []
  private scheduled = false
  private broken: Error | undefined
  private answers: RpcHandlers = {}

  constructor(port: MessagePort | Worker, options: RpcOptions) {
    this.port = port
    this.options = options
  }

  /** Starts to receive calls of the methods. Messages that arrived before are queued until then. */
  listen(answers: RpcHandlers): void {
    this.answers = answers
    this.port.on('message', (sent: Sent) => this.receive(sent))
  }

  /** Calls a method. Rejects with the error of the other side, an OAuthError as such, or when the connection is broken. */
  ask<K extends keyof Theirs & string>(
    name: K,
    input: Parameters<Theirs[K]>[0],
  ): Promise<Awaited<ReturnType<Theirs[K]>>> {
    if (this.broken) return Promise.reject(this.broken)
    const number = ++this.last
    return new Promise((resolve, reject) => {
      this.waiting.set(number, { resolve: resolve as Waiting['resolve'], reject })
      this.say(number, name, input)
    })
  }

  /** Sends a call without an answer. */
  tell<K extends keyof Theirs & string>(name: K, input: Parameters<Theirs[K]>[0]): void {
    if (!this.broken) this.say(0, name, input)
  }

  /** Sends queued messages at once instead of at the end of the turn. */
  flush(): void {
    this.scheduled = false
    const { asks, replies } = this
    this.asks = []
    this.replies = []
    if (this.broken || asks.length + replies.length === 0) return
    this.port.postMessage({
      ...(asks.length > 0 ? { asks: this.options.asText ? JSON.stringify(asks) : asks } : {}),
      ...(replies.length > 0 ? { answers: replies } : {}),
    } satisfies Sent)
  }

  /** Closes this end because the other side is gone. Pending calls are rejected. */
  break(why: Error): void {
    this.broken = why
    for (const { reject } of this.waiting.values()) reject(why)
    this.waiting.clear()
  }

  private say(number: number, name: string, input: unknown): void {
    this.asks.push([number, name, input])
    this.schedule()
  }

  private schedule(): void {
    if (this.scheduled) return
    this.scheduled = true
    setImmediate(() => this.flush())
  }

  private receive({ asks = [], answers = [] }: Sent): void {
    for (const [number, value, fault] of answers) {
      const waiting = this.waiting.get(number)
      this.waiting.delete(number)
      if (fault) waiting?.reject(revived(fault))
      else waiting?.resolve(value)
    }
    for (const ask of typeof asks === 'string' ? (JSON.parse(asks) as [number, string, unknown][]) : asks)
      void this.answer(...ask)
  }

  private async answer(number: number, name: string, input: unknown): Promise<void> {
    let reply: [number, unknown, Fault?]
    try {
      const answer = this.answers[name] as (input: unknown) => unknown
      reply = [number, await answer(input)]
    } catch (error) {
      reply = [number, undefined, faultOf(error as Error)]
    }
    if (number === 0) return
    this.replies.push(reply)
    this.schedule()
  }
}

function faultOf(error: Error): Fault {
  const { name, message, stack } = error
  if (!(error instanceof OAuthError)) return { name, message, stack, code: codeOf(error) }
  const { cause, ...more } = error.more
  // The stack trace of the other side is for the log only.
  return { name, message, refused: { code: error.code, more }, ...(cause ? { stack: String(cause) } : {}) }
}

function revived({ refused, name, message, stack, code }: Fault): Error {
  if (refused) return new OAuthError(refused.code, message, { ...refused.more, ...(stack ? { cause: stack } : {}) })
  return Object.assign(new Error(message), { name, stack, ...(code === undefined ? {} : { code }) })
}
