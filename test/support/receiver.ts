// A receiver of events on loopback: it keeps what it gets, and answers what a test wants.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { vi } from 'vitest'
import { atEndOfFile } from './end_of_file.ts'

/** The setting that allows receivers on loopback. */
export const RECEIVERS_ALLOWED = { SERVICE_EVENTS_ALLOW_HOSTS: '127.0.0.1' }

export interface Delivered {
  headers: IncomingMessage['headers']
  text: string
  status: number
}

export class TestReceiver {
  /** Every request, in order. */
  readonly got: Delivered[] = []
  /** The statuses of the next responses; then 204. */
  readonly next: number[] = []
  /** Headers of every response. */
  headers: Record<string, string> = {}
  /** Replaces the responses. */
  answer?: (response: ServerResponse) => void
  connections = 0
  readonly #server = createServer((request, response) => void this.#serve(request, response))

  /** Starts a receiver. It is closed when the test file ends. */
  static async start(): Promise<TestReceiver> {
    const receiver = new TestReceiver()
    receiver.#server.on('connection', () => receiver.connections++)
    receiver.#server.listen(0, '127.0.0.1')
    await once(receiver.#server, 'listening')
    atEndOfFile(() => {
      receiver.#server.close()
      receiver.#server.closeAllConnections()
    })
    return receiver
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`
  }

  /** The bodies that were accepted. */
  get accepted(): Record<string, unknown>[] {
    return this.got.filter(({ status }) => status < 300).map(({ text }) => JSON.parse(text))
  }

  /** Waits until there were so many requests. */
  async arrived(count: number): Promise<Delivered[]> {
    await vi.waitFor(
      () => {
        if (this.got.length < count) throw new Error(`${this.got.length} of ${count} requests arrived`)
      },
      { timeout: 15_000, interval: 20 },
    )
    return this.got
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = ''
    for await (const chunk of request) text += chunk
    const status = this.next.shift() ?? 204
    this.got.push({ headers: request.headers, text, status })
    if (this.answer) this.answer(response)
    else response.writeHead(status, this.headers).end()
  }
}
