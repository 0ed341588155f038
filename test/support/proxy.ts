// A proxy between an instance and its database, which can stop forwarding, or cut every connection.
import { connect, createServer, type Server, type Socket } from 'node:net'
import { freePort } from './free_port.ts'

export interface TcpProxy {
  /** The DSN of the database through the proxy. */
  readonly dsn: string
  /** The port of the server behind it. */
  readonly to: number
  /** Stops forwarding; connections stay open. */
  stall(): void
  /** Stops forwarding on existing connections, which stay open; new connections work. */
  strand(): void
  /** Ends every connection. */
  cut(): void
  /** New connections work again. */
  resume(): void
  close(): void
}

/**
 * Opens one to the server of a DSN; `rewrite` may change what clients send, but not its length. What it returns undefined for is
 * passed on, and the connection ends when the server has answered it, without the answer.
 */
export async function openProxy(
  dsn: string,
  rewrite?: (sent: Buffer) => Buffer | undefined,
  at = '127.0.0.1',
): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  const to = Number(new URL(dsn).port)
  let stalled = false
  const server: Server = createServer((socket) => {
    const upstream = connect(to, '127.0.0.1')
    for (const each of [socket, upstream]) {
      sockets.add(each)
      each.on('error', () => {})
      each.on('close', () => {
        sockets.delete(each)
        ;(each === socket ? upstream : socket).destroy()
      })
    }
    if (stalled) return
    if (rewrite)
      socket.on('data', (sent) => {
        const passed = rewrite(sent)
        if (!passed)
          upstream
            .unpipe()
            .on('data', () => socket.destroy())
            .resume()
        upstream.write(passed ?? sent)
      })
    else socket.pipe(upstream)
    upstream.pipe(socket)
  })
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, at, resolve))
  const url = new URL(dsn)
  url.hostname = at
  url.port = `${port}`
  const cut = () => {
    for (const each of sockets) each.destroy()
  }
  return {
    dsn: url.href,
    to,
    stall() {
      stalled = true
      for (const each of sockets) each.unpipe().pause()
    },
    strand() {
      for (const each of sockets) each.unpipe().pause()
    },
    cut,
    resume() {
      stalled = false
      cut()
    },
    close() {
      server.close()
      cut()
    },
  }
}
