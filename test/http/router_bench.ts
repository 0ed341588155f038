// A router over a few routes of every kind, and a way to send it requests.
import { htmlReply, json, type Reply, type Request, type RequestHead } from '../../src/http/message.ts'
import { openRequestLog } from '../../src/http/request_log.ts'
import type { Route } from '../../src/http/route.ts'
import { createRouter, type RouterOptions } from '../../src/http/router.ts'
import { OAuthError } from '../../src/lib/error.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { head } from '../support/head.ts'
import { recordingLog } from '../support/log.ts'

const shown = (request: Request) => json(200, request.params)
export const routes: Route[] = [
  { method: 'GET', path: '/things', handle: () => json(200, 'list'), cors: true },
  {
    method: 'POST',
    path: '/things',
    handle: (r) => json(201, r.body.toString()),
    body: { type: 'json', limit: 100 },
    cors: true,
  },
  { method: 'GET', path: '/things/{id}', handle: shown },
  { method: 'GET', path: '/things/mine', handle: () => json(200, 'mine') },
  { method: 'DELETE', path: '/things/{id}/parts/{part}', handle: shown },
  { method: 'GET', path: '/docs/{ref...}', handle: shown },
  { method: 'POST', path: '/form', handle: (r) => json(200, r.body.toString()), body: { type: 'form', limit: 100 } },
  { method: 'GET', path: '/probe', handle: () => json(200, 'ok'), unlimited: true },
  {
    method: 'GET',
    path: '/page',
    handle: () => {
      throw new OAuthError('invalid_request', 'no')
    },
    renderError: (error) => htmlReply(error.status, `<p>${error.message}</p>`),
  },
  { method: 'GET', path: '/throw', handle: () => Promise.reject(new Error('disk full')) },
]

/** A router, and a function that sends it a request. */
export function router(more: Partial<RouterOptions> = {}) {
  const metrics = new Metrics()
  const { log, lines } = recordingLog()
  const accept = createRouter({
    routes,
    headers: {},
    allowedOrigins: [],
    metrics,
    requests: openRequestLog(log, 1),
    ...more,
  })
  const send = async (
    method: string,
    path: string,
    text?: string,
    headers: RequestHead['headers'] = {},
  ): Promise<Reply> => {
    const body = Buffer.from(text ?? '')
    const length = text === undefined ? {} : { 'content-length': String(body.length) }
    const accepted = await accept(head({ method, path, headers: { ...length, ...headers } }))
    return 'status' in accepted ? accepted : accepted.answer(body)
  }
  return { accept, send, metrics, lines }
}
