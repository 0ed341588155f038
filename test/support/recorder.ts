// A proxy between clients and a service, at the address of the issuer, which records the requests of clients.
import { request as ask, createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { startService, type TestService } from './service.ts'

/** One request of a client to a well-known document or an endpoint below /oauth. */
export interface Sent {
  /** `POST /oauth/token`. */
  what: string
  /** Members of the query, the form or the JSON body, by name, in order of arrival. */
  params: ReadonlyMap<string, string>
  headers: IncomingHttpHeaders
}

/** A service whose issuer is the recorder. `sent` contains all requests so far. */
export interface Recorded extends TestService {
  readonly sent: Sent[]
}

/** Starts a service and the recorder in front of it. */
export async function startRecorded(env: Record<string, string> = {}): Promise<Recorded> {
  const sent: Sent[] = []
  let to = ''
  const front = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request
    const body = await buffer(request)
    const { pathname, search } = new URL(url, 'http://recorder')
    if (/^\/(\.well-known|oauth)\//.test(pathname))
      sent.push({ what: `${method} ${pathname}`, params: paramsOf(search, body, headers['content-type']), headers })
    const forward = ask(to + url, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    forward.on('error', () => response.destroy()).end(body)
  })
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
  const issuer = `http://localhost:${(front.address() as AddressInfo).port}`
  const service = await startService({ ...env, SERVICE_SERVER_ISSUER: issuer })
  to = service.issuer
  return {
    ...service,
    issuer,
    sent,
    async close() {
      front.closeAllConnections()
      front.close()
      await service.close()
    },
  }
}

function paramsOf(search: string, body: Buffer, type = ''): Map<string, string> {
  if (!type.startsWith('application/json')) return new Map(new URLSearchParams(search || body.toString()))
  return new Map(Object.entries(JSON.parse(body.toString()) as object).map(([name, value]) => [name, String(value)]))
}
