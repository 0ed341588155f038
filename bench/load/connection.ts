// A keep-alive HTTP/1.1 connection on a plain socket. node:http would need several times the CPU time per request, and so
// leave less CPU time for the server on the same machine.
import { connect, type Socket } from 'node:net'
import { loopbackUrl } from './loopback.ts'

export interface LoadAnswer {
  status: number
  /** Status line and headers as received. */
  head: string
  body: string
}

const TIMEOUT_MS = 10_000
const END_OF_HEAD = '\r\n\r\n'
const FORM = 'content-type: application/x-www-form-urlencoded\r\n'

/** Sends one request at a time. The next request reopens a connection that the server closed. */
export class LoadConnection {
  private readonly url: URL
  private socket: Socket | undefined
  private received = ''
  private waiting: { resolve(answer: LoadAnswer): void; reject(error: Error): void } | undefined

  constructor(base: string) {
    this.url = loopbackUrl(base)
  }

  /** POSTs a form with optional further header lines. Rejects when the connection breaks or after ten seconds. */
  post(path: string, form: string, more = ''): Promise<LoadAnswer> {
    const headers = `${FORM}content-length: ${Buffer.byteLength(form)}\r\n${more}`
    return this.exchange(`POST ${path}`, headers, form)
  }

  get(path: string, more = ''): Promise<LoadAnswer> {
    return this.exchange(`GET ${path}`, more, '')
  }

  close(): void {
    this.socket?.destroy()
  }

  private exchange(what: string, headers: string, body: string): Promise<LoadAnswer> {
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject }
      this.received = ''
      this.socket ??= this.open()
      this.socket.write(`${what} HTTP/1.1\r\nhost: ${this.url.host}\r\n${headers}\r\n${body}`)
    })
  }

  private open(): Socket {
    const socket = connect({ host: this.url.hostname, port: Number(this.url.port), noDelay: true })
    socket.setEncoding('latin1').setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('no answer in 10 s')))
    socket.on('data', (text: string) => this.take(text))
    let cause: Error | undefined
    socket.on('error', (error) => {
      cause = error
    })
    socket.on('close', () => {
      if (this.socket === socket) this.socket = undefined
      this.settle()?.reject(cause ?? new Error('the server closed the connection'))
    })
    return socket
  }

  private take(text: string): void {
    this.received += text
    const at = this.received.indexOf(END_OF_HEAD)
    if (at < 0) return
    const head = this.received.slice(0, at)
    const body = bodyOf(head, this.received.slice(at + END_OF_HEAD.length))
    if (body === undefined) return
    if (/\r\nconnection: *close/i.test(head)) {
      this.socket?.destroy()
      this.socket = undefined
    }
    this.settle()?.resolve({ status: Number(head.slice(9, 12)), head, body })
  }

  private settle() {
    const { waiting } = this
    this.waiting = undefined
    return waiting
  }
}

/** The body when it is complete; undefined before. All measured servers send a length. */
function bodyOf(head: string, rest: string): string | undefined {
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
  return rest.length >= length ? rest : undefined
}
