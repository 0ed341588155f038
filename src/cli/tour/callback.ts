// A redirect URI on this machine that waits for one answer of the authorization server (RFC 8252 §7.3).
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface TourCallback {
  /** Contains the port that it listens on. */
  readonly redirect_uri: string
  /** The query of the first answer. Rejects after `waitMs`. */
  answer(waitMs: number): Promise<URLSearchParams>
  close(): void
}

const PAGE =
  '<!doctype html><meta charset=utf-8><title>Done</title><p>Done. You can close this page and go back to the terminal.'

/** Listens on a port of the loopback interface; 0 means any free port. */
export async function openCallback(port: number): Promise<TourCallback> {
  const server = createServer()
  const answered = new Promise<URLSearchParams>((resolve) => {
    server.on('request', (request, response) => {
      const url = new URL(request.url ?? '/', 'http://127.0.0.1')
      const ours = url.pathname === '/callback'
      response.writeHead(ours ? 200 : 404, { 'content-type': 'text/html', connection: 'close' }).end(ours ? PAGE : '')
      if (ours) resolve(url.searchParams)
    })
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    redirect_uri: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`,
    answer(waitMs) {
      const late = new Promise<never>((_, reject) => {
        setTimeout(() => reject(new Error('the browser did not return in time')), waitMs).unref()
      })
      return Promise.race([answered, late])
    },
    close: () => void server.close(),
  }
}
