// Route tables. One wrapper does for every route: framing, limits, CORS, timing, metrics, log and errors.

import { type ErrorCode, OAuthError, overloaded } from '../lib/error.ts'
import { newId } from '../lib/id.ts'
import type { ActivityStep } from '../telemetry/client_activity.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { parseTraceparent, type Trace, type Tracer } from '../telemetry/trace.ts'
import { framingFault, METHODS, statesNoLength } from './framing.ts'
import type { Accept } from './front.ts'
import { empty, type Notes, type Reply, type Request, type RequestHead } from './message.ts'
import { asOAuthError, problem } from './problem.ts'
import type { Limiter } from './rate_limit.ts'
import type { RequestLog } from './request_log.ts'
import type { Method, Route } from './route.ts'
import { type Match, RouteTable } from './route_table.ts'

export interface RouterOptions {
  routes: readonly Route[]
  /** Headers of every answer. */
  headers: Readonly<Record<string, string>>
  allowedOrigins: readonly string[]
  limiter?: Limiter
  /** The address of who asks, where it is not that of the peer. */
  addressOf?(head: RequestHead): string
  /** Told of every answer of a route that is a step. */
  onStep?(step: ActivityStep, request: Request, reply: Reply, error: OAuthError | undefined): void
  metrics: Metrics
  requests: RequestLog
  /** Only where requests are traced. */
  tracer?: Tracer
}

const PREFLIGHT_AGE_SECONDS = 86_400
const TYPES = { form: 'application/x-www-form-urlencoded', json: 'application/json' } as const

/** Builds the function that an engine asks about every request. */
export function createRouter(options: RouterOptions): Accept {
  const table = new RouteTable(options.routes)

  return (received) => {
    const head = options.addressOf ? { ...received, remote: options.addressOf(received) } : received
    const startedMs = performance.now()
    const id = newId()
    const refuse = (error: OAuthError, path: string, close: boolean, cors = false): Reply =>
      finish({ ...problem(error, head, id), close }, { head, id, startedMs, path, cors, error })

    const fault = framingFault(head)
    if (fault) return refuse(fault, 'unmatched', true)
    const methods = table.find(head.path)
    // A refused request whose body was never read cannot share its connection with the next one.
    const unread = head.method !== 'GET' && head.method !== 'HEAD'
    if (!methods) return refuse(new OAuthError('not_found', 'there is nothing at this path'), 'unmatched', unread)
    const match = methods.get(head.method === 'HEAD' ? 'GET' : (head.method as Method))
    const known = match?.route ?? anyOf(methods)
    try {
      known.guard?.(head)
    } catch (thrown) {
      return refuse(asOAuthError(thrown), known.path, unread, known.cors)
    }
    if (head.method === 'OPTIONS') return preflight(methods, { head, id, startedMs })
    if (!match) return refuse(wrongMethod(methods), known.path, unread, known.cors)

    const { route, params } = match
    const limit = route.body?.limit ?? 0
    if (route.body && !route.body.optional && statesNoLength(head))
      return refuse(
        new OAuthError('length_required', 'the request must state the length of its body'),
        route.path,
        true,
        route.cors,
      )
    const { 'content-length': size, expect } = head.headers
    // Of a known length, and not of a client that waits for a sign to send it.
    const canSkip = !unread || (size !== undefined && Number(size) <= limit && expect === undefined)
    const wait = route.unlimited ? 0 : (options.limiter?.take() ?? 0)
    if (wait > 0) return refuse(tooMany(wait), route.path, !canSkip, route.cors)
    const refuseLarge = () => refuse(tooLarge(limit), route.path, true, route.cors)
    if (Number(size ?? 0) > limit) return refuseLarge()
    const full = route.admission?.refusal()
    if (full) {
      const refused = () => refuse(full, route.path, !canSkip, route.cors)
      return (canSkip ? route.admission?.hold()?.then(refused) : undefined) ?? refused()
    }

    return {
      limit,
      tooLarge: refuseLarge,
      crowded: () => refuse(crowded(), route.path, true, route.cors),
      answer: (body) => {
        const { method, path, query, headers, repeated, remote } = head
        const request: Request = {
          method,
          path,
          query,
          headers,
          repeated,
          remote,
          id,
          startedMs,
          params,
          body,
          notes: {},
        }
        if (options.tracer || headers.traceparent) trace(route, request)
        return answer(route, request)
      },
    }
  }

  function trace(route: Route, request: Request): void {
    const parent = parseTraceparent(request.headers.traceparent)
    request.trace = options.tracer?.begin(`${route.method} ${route.path}`, parent, {
      'http.request.method': request.method,
      'http.route': route.path,
      request_id: request.id,
    })
    request.trace_id = request.trace?.trace_id ?? parent?.trace_id
  }

  // A handler that answers at once is answered at once: pipelined requests must not wait for a promise.
  function answer(route: Route, request: Request): Reply | Promise<Reply> {
    route.admission?.begin()
    const context = {
      head: request,
      id: request.id,
      startedMs: request.startedMs,
      path: route.path,
      cors: route.cors,
      trace_id: request.trace_id,
      trace: request.trace,
      notes: request.notes,
    }
    const step = (reply: Reply, error = request.notes.refusal) => {
      if (route.step) options.onStep?.(route.step, request, reply, error)
    }
    const done = (reply: Reply) => {
      route.admission?.end()
      step(reply)
      const { refusal } = request.notes
      return finish(reply, refusal ? { ...context, error: refusal } : context)
    }
    const failed = (thrown: unknown) => {
      route.admission?.end()
      const error = asOAuthError(thrown)
      const reply = route.renderError?.(error, request) ?? problem(error, request, request.id)
      step(reply, error)
      return finish(reply, { ...context, error })
    }
    let reply: Reply | Promise<Reply>
    try {
      if (route.body) checkType(route.body.type, request)
      reply = route.handle(request)
    } catch (thrown) {
      return failed(thrown)
    }
    return reply instanceof Promise ? reply.then(done, failed) : done(reply)
  }

  function preflight(
    methods: ReadonlyMap<Method, Match>,
    context: Pick<Finishing, 'head' | 'id' | 'startedMs'>,
  ): Reply {
    const { path, cors } = anyOf(methods)
    if (!cors) return finish(problem(wrongMethod(methods), context.head, context.id), { ...context, path, cors: false })
    const allowed = originOf(context.head)
    const headers: Record<string, string> = allowed
      ? {
          'access-control-allow-methods': 'GET, POST, OPTIONS',
          'access-control-allow-headers': 'Content-Type, Authorization, DPoP, MCP-Protocol-Version',
          'access-control-max-age': String(PREFLIGHT_AGE_SECONDS),
        }
      : {}
    return finish(empty(204, headers), { ...context, path, cors: true })
  }

  interface Finishing {
    head: RequestHead
    id: string
    startedMs: number
    path: string
    cors?: boolean
    error?: OAuthError
    trace_id?: string
    trace?: Trace
    notes?: Notes
  }

  function finish(reply: Reply, context: Finishing): Reply {
    const { head, path, startedMs, cors, error } = context
    if (statesNoLength(head)) reply.close = true
    for (const name in options.headers) reply.headers[name] ??= options.headers[name] as string
    if (cors) addCors(reply, head)
    const seconds = (performance.now() - startedMs) / 1000
    // Label values are from a fixed set, whatever is sent.
    const labels = { method: METHODS.has(head.method) ? head.method : 'other', path, status: String(reply.status) }
    options.metrics.count('core_http_requests_total', labels)
    options.metrics.observe('core_http_request_duration_seconds', seconds, labels)
    if (error) options.metrics.count('ext_refusals_total', { error: error.code, reason: error.reason })
    if (context.trace) {
      context.trace.set({
        'http.response.status_code': reply.status,
        ...(error ? { 'error.reason': error.reason } : {}),
      })
      context.trace.end(reply.status >= 500 ? (error?.reason ?? 'server_error') : undefined)
    }
    if (error || options.requests.hasAll) logRequest(reply, seconds, context)
    return reply
  }

  function logRequest({ status }: Reply, seconds: number, context: Finishing): void {
    const { head, id, path, error, trace_id, notes } = context
    options.requests.answered({
      request_id: id,
      trace_id,
      method: head.method,
      path,
      status,
      ms: Math.round(seconds * 1e5) / 100,
      remote: head.remote,
      client_id: notes?.client_id,
      error,
    })
  }

  function originOf(head: RequestHead): string | undefined {
    const { origin } = head.headers
    if (!origin) return undefined
    if (options.allowedOrigins.includes('*')) return '*'
    return options.allowedOrigins.includes(origin) ? origin : undefined
  }

  function addCors(reply: Reply, head: RequestHead): void {
    if (options.allowedOrigins.length === 0) return
    const origin = originOf(head)
    if (!options.allowedOrigins.includes('*')) reply.headers['vary'] = 'Origin'
    if (!origin) return
    reply.headers['access-control-allow-origin'] = origin
    reply.headers['access-control-expose-headers'] = 'DPoP-Nonce, WWW-Authenticate, Retry-After'
  }
}

const anyOf = (methods: ReadonlyMap<Method, Match>): Route => (methods.values().next().value as Match).route

function wrongMethod(methods: ReadonlyMap<Method, Match>): OAuthError {
  const allow = [...methods.keys()].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ')
  return new OAuthError('method_not_allowed', `this path takes ${allow}`, { headers: { allow } })
}
const tooMany = (wait: number) =>
  new OAuthError('slow_down', 'too many requests', { reason: 'rate_limited', headers: { 'retry-after': String(wait) } })
const tooLarge = (limit: number): OAuthError =>
  new OAuthError('content_too_large', `the body may have at most ${limit} bytes`)
const crowded = (): OAuthError => overloaded('body_room', 'too many requests are still being sent')

function checkType(type: 'form' | 'json' | 'any', request: Request): void {
  const { 'content-type': given = '', 'content-encoding': encoding = 'identity' } = request.headers
  const refuse = (description: string, code: ErrorCode = 'unsupported_media_type') => new OAuthError(code, description)
  if (encoding !== 'identity') throw refuse('the body must not be encoded')
  if (type === 'any' || given === TYPES[type] || (request.body.length === 0 && type === 'json')) return
  const [media = '', ...parameters] = given
    .toLowerCase()
    .split(';')
    .map((part) => part.trim())
  if (media !== TYPES[type]) throw refuse(`the body must be ${TYPES[type]}`)
  const charset = parameters
    .find((each) => each.startsWith('charset='))
    ?.slice(8)
    .replaceAll('"', '')
  if (charset !== undefined && charset !== 'utf-8') throw refuse('the body must be UTF-8')
}
