// A listener with routes that show what an engine does with a request.
import { Admission } from '../../src/http/admission.ts'
import type { Accept, HttpListener, HttpListenerOptions } from '../../src/http/listener.ts'
import { empty, htmlReply, json } from '../../src/http/message.ts'
import { openRequestLog } from '../../src/http/request_log.ts'
import type { Route } from '../../src/http/route.ts'
import { createRouter } from '../../src/http/router.ts'
import { overloaded } from '../../src/lib/error.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { freePort } from '../support/free_port.ts'
import { recordingLog } from '../support/log.ts'
import { pause, Wire } from '../support/wire.ts'

export type OpenEngine = (options: HttpListenerOptions) => Promise<HttpListener>

export const BODY_LIMIT = 1000
const bad = () => ({ ...htmlReply(200, 'split'), headers: { x: 'a\r\nset-cookie: evil=1' } })
async function* lines() {
  for (const line of ['one', 'two', 'three']) {
    await pause(1)
    yield `${line}\n`
  }
}
const body = { type: 'any', limit: BODY_LIMIT } as const

export interface Bench {
  front: HttpListener
  port: number
  options: HttpListenerOptions
  /** Paths whose handlers ran, in order. */
  handled: string[]
  /** Opens a connection. */
  wire(host?: string): Promise<Wire>
  /** One request on a connection of its own. */
  ask(text: string | Buffer): Promise<Awaited<ReturnType<Wire['answer']>>>
}

/** Opens a listener. */
export async function openBench(open: OpenEngine, more: Partial<HttpListenerOptions> = {}): Promise<Bench> {
  const handled: string[] = []
  const { log } = recordingLog()
  const route = (method: Route['method'], path: string, handle: Route['handle']): Route => ({
    method,
    path,
    handle: (request) => {
      handled.push(`${method} ${path}`)
      return handle(request)
    },
    ...(method === 'POST' ? { body } : {}),
  })
  const accept: Accept = createRouter({
    routes: [
      route('GET', '/hello', () => htmlReply(200, 'hello')),
      route('GET', '/later', () => pause(200).then(() => htmlReply(200, 'later'))),
      route('GET', '/never', () => new Promise(() => {})),
      route('GET', '/head', ({ path, query, headers, remote }) => json(200, { path, query, headers, remote })),
      route('GET', '/cookies', () => htmlReply(200, '', { 'set-cookie': ['a=1', 'b=2'] })),
      route('GET', '/204', () => empty(204)),
      route('GET', '/304', () => empty(304, { etag: '"x"' })),
      route('GET', '/lines', () => ({ ...htmlReply(200, ''), stream: lines() })),
      route('GET', '/bad', bad),
      route('GET', '/bad-later', () => pause(1).then(bad)),
      route('POST', '/bad', bad),
      route('POST', '/bad-later', () => pause(1).then(bad)),
      route('GET', '/throw', () => {
        throw new Error('broken')
      }),
      route('GET', '/reject', () => Promise.reject(new Error('broken'))),
      { ...route('POST', '/full', () => empty(200)), admission: new Admission(() => overloaded('test')) },
      {
        ...route('POST', '/stop', (request) => json(200, { bytes: request.body.length })),
        body: { ...body, optional: true },
      },
      route('POST', '/echo', (request) => ({ status: 200, headers: {}, body: request.body })),
    ],
    headers: {},
    allowedOrigins: [],
    metrics: new Metrics(),
    requests: openRequestLog(log, 1),
  })
  const port = await freePort()
  const options: HttpListenerOptions = {
    address: `:${port}`,
    accept,
    readTimeoutMs: 30_000,
    writeTimeoutMs: 30_000,
    idleTimeoutMs: 30_000,
    log,
    ...more,
  }
  const front = await open(options)
  const wire = (host?: string) => Wire.open(port, host)
  return {
    front,
    port,
    options,
    handled,
    wire,
    async ask(text) {
      const connection = await wire()
      const answer = await connection.send(text).answer()
      connection.leave()
      return answer
    },
  }
}

const HOST = 'host: auth.example.com\r\n'
export const get = (path: string, headers = ''): string => `GET ${path} HTTP/1.1\r\n${HOST}${headers}\r\n`
export const post = (path: string, headers: string, text = ''): string =>
  `POST ${path} HTTP/1.1\r\n${HOST}${headers}\r\n${text}`
export const postText = (path: string, text: string): string => post(path, `content-length: ${text.length}\r\n`, text)
