// An HTTP client on a plain TCP socket: it sends the given bytes, and reads answers byte by byte.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export interface Answer {
  status: number
  /** Lower-case names, each with all its values. */
  headers: Record<string, string[]>
  body: string
}

export class Wire {
  /** Received bytes that were not parsed yet. */
  text = ''
  isClosed = false
  private readonly socket: Socket

  private constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk) => {
      this.text += chunk.toString('latin1')
    })
    socket.on('close', () => {
      this.isClosed = true
    })
    socket.on('error', () => {})
  }

  static async open(port: number, host = '127.0.0.1'): Promise<Wire> {
    const socket = connect(port, host)
    await once(socket, 'connect')
    return new Wire(socket)
  }

  send(text: string | Buffer): this {
    this.socket.write(typeof text === 'string' ? Buffer.from(text, 'latin1') : text)
    return this
  }

  /** Resets the connection. */
  reset(): void {
    this.socket.resetAndDestroy()
  }

  leave(): void {
    this.socket.destroy()
  }

  /** Resolves when the other side has closed; rejects after `ms`. */
  async closed(ms = 3000): Promise<void> {
    await this.until(() => this.isClosed, ms, 'the connection was not closed')
  }

  /** Whether the other side closes within `ms`. */
  async closesWithin(ms: number): Promise<boolean> {
    for (const deadline = performance.now() + ms; !this.isClosed && performance.now() < deadline; ) await pause(5)
    return this.isClosed
  }

  /** The next answer. `bodyless` is for HEAD, whose answer has a length and no body. */
  async answer({ bodyless = false, ms = 3000 } = {}): Promise<Answer> {
    await this.until(() => this.complete(bodyless) !== undefined || this.isClosed, ms, 'no answer came')
    const end = this.complete(bodyless)
    if (end === undefined) throw new Error(`the connection closed after ${JSON.stringify(this.text)}`)
    const [head = '', ...rest] = this.text.slice(0, end).split('\r\n\r\n')
    this.text = this.text.slice(end)
    const [status = '', ...lines] = head.split('\r\n')
    const headers: Record<string, string[]> = {}
    for (const line of lines) {
      const at = line.indexOf(':')
      const name = line.slice(0, at).toLowerCase()
      headers[name] = [...(headers[name] ?? []), line.slice(at + 1).trim()]
    }
    return { status: Number(status.split(' ')[1]), headers, body: rest.join('\r\n\r\n') }
  }

  private complete(bodyless: boolean): number | undefined {
    const end = this.text.indexOf('\r\n\r\n')
    if (end < 0) return undefined
    const length = bodyless ? 0 : Number(/\r\ncontent-length: (\d+)/i.exec(this.text.slice(0, end + 2))?.[1] ?? 0)
    const total = end + 4 + length
    return this.text.length >= total ? total : undefined
  }

  private async until(done: () => boolean, ms: number, otherwise: string): Promise<void> {
    const deadline = performance.now() + ms
    while (!done()) {
      if (performance.now() > deadline)
        throw new Error(`${otherwise} within ${ms} ms; got ${JSON.stringify(this.text)}`)
      await pause(5)
    }
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Waits until the condition is true; fails after `ms`. */
export async function eventually(check: () => unknown, ms = 10_000): Promise<void> {
  for (const deadline = performance.now() + ms; !(await check()); await pause(20))
    if (performance.now() > deadline) throw new Error(`it is not so after ${ms} ms`)
}
