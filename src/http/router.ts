// The router: finds the route of a request, applies the checks that all routes share, calls the handler, and gives every answer
// its headers, metrics, span and log line.
import { OAuthError, overloaded } from '../lib/error.ts'
import { newId } from '../lib/id.ts'
import type { ActivityStep } from '../telemetry/client_activity.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { parseTraceparent, type Trace, type Tracer, within } from '../telemetry/trace.ts'
import type { AddressShare } from './address_share.ts'
import { checkBodyType } from './body_type.ts'
import { Cors } from './cors.ts'
import { framingFault, METHODS, statesNoLength } from './framing.ts'
import type { Accept, Decision } from './listener.ts'
import { empty, type Reply, type Request, type RequestHead } from './message.ts'
import { asOAuthError, type ErrorContentType, problem } from './problem.ts'
import type { Limiter } from './rate_limit.ts'
import type { RequestLog } from './request_log.ts'
import type { Method, Route } from './route.ts'
import { type Match, RouteTable } from './route_table.ts'

export interface RouterOptions {
  routes: readonly Route[]
  /** The content type of errors where the Accept header decides nothing. Without it, the rule of the admin API holds. */
  errors?: ErrorContentType
  /** Headers of every answer. */
  headers: Readonly<Record<string, string>>
  allowedOrigins: readonly string[]
  limiter?: Limiter
  /** The answer to a path that no route has. Without it, a problem document. */
  renderUnknown?(error: OAuthError, request: Request): Reply
  /** The shares of addresses in that limit. */
  share?: Pick<AddressShare, 'take' | 'giveBack' | 'know'>
  /** Returns the address of the client. Without it, the address of the peer counts. */
  addressOf?(head: RequestHead): string
  /** Called for every answer of a route that has a step. */
  onStep?(step: ActivityStep, request: Request, reply: Reply, error: OAuthError | undefined): void
  metrics: Metrics
  requests: RequestLog
  /** Whether connections are closed after their answers, so that proxies open no further requests on them. */
  isDraining?(): boolean
  /** Set when requests are traced. */
  tracer?: Tracer
}

/** The properties of a route that its answer depends on. */
type MatchedRoute = Pick<Route, 'path' | 'cors'> & Refusing
/** What the form of refusals depends on. */
type Refusing = Pick<Route, 'hasJsonErrors' | 'renderProblem'>

const UNMATCHED: MatchedRoute = { path: 'unmatched' }
const NO_PARAMS = Object.freeze({})
const NO_BODY = Buffer.alloc(0)

/** Creates the function that an engine calls with the head of every request. */
export function createRouter(options: RouterOptions): Accept {
  const router = new Router(options)
  return (head) => router.accept(head)
}

class Router {
  private readonly options: RouterOptions
  private readonly table: RouteTable
  private readonly cors: Cors

  constructor(options: RouterOptions) {
    this.options = options
    this.table = new RouteTable(options.routes)
    this.cors = new Cors(options.allowedOrigins)
  }

  /** Decides on a request by its head: an answer, or how much body it may send. */
  accept(head: RequestHead): Decision | Promise<Decision> {
    const request = newRequest(head, this.options.addressOf?.(head) ?? head.remote)
    const fault = framingFault(request)
    if (fault) return this.refuse(fault, request, UNMATCHED, true)
    const methods = this.table.find(request.path)
    const close = mayHaveBody(request)
    if (!methods) return this.refuseUnknown(request, close)
    const match = matchOf(methods, request.method)
    const route = match?.route ?? anyOf(methods)
    const enter = () => this.enter(methods, match, request)
    const refuse = (thrown: unknown) => this.refuse(asOAuthError(thrown), request, route, close)
    try {
      const guarded = route.guard?.(request)
      return guarded ? guarded.then(enter, refuse) : enter()
    } catch (thrown) {
      return refuse(thrown)
    }
  }

  /** Decides on a request that its guard let through. */
  private enter(
    methods: ReadonlyMap<Method, Match>,
    match: Match | undefined,
    request: Request,
  ): Decision | Promise<Reply> {
    if (request.method === 'OPTIONS') return this.preflight(methods, request)
    if (!match) return this.refuse(wrongMethod(methods), request, anyOf(methods), mayHaveBody(request))
    request.params = match.params
    return this.admit(match.route, request)
  }

  /** Checks the stated length of the body, and applies the limits: rate, size of the body, overload. */
  private admit(route: Route, request: Request): Decision | Promise<Reply> {
    if (route.body && !route.body.optional && statesNoLength(request))
      return this.refuse(lengthRequired(), request, route, true)
    const limit = route.body?.limit ?? 0
    const excess = route.unlimited ? undefined : this.excessOf(request)
    if (excess) return this.refuse(excess, request, route, !canSkipBody(request, limit))
    const refuseLarge = () => this.refuse(tooLarge(limit), request, route, true)
    if (Number(request.headers['content-length'] ?? 0) > limit) return refuseLarge()
    const overload = route.admission?.refusal()
    if (overload) return this.refuseOverload(overload, request, route, canSkipBody(request, limit))
    return {
      limit,
      tooLarge: refuseLarge,
      noRoom: () => this.refuse(noRoom(), request, route, true),
      answer: (body) => this.answer(route, request, body),
    }
  }

  /** The refusal of a request beyond the share of its address, or beyond the limit on all requests. */
  private excessOf({ remote }: Request): OAuthError | undefined {
    const { share, limiter } = this.options
    const alone = share?.take(remote) ?? 0
    if (alone > 0) return tooMany(alone, 'address_limited')
    const wait = limiter?.take() ?? 0
    return wait > 0 ? tooMany(wait, 'rate_limited') : undefined
  }

  /** Calls the handler. A handler that returns no promise is answered in the same turn, so that pipelined requests do not wait for one. */
  private answer(route: Route, request: Request, body: Buffer): Reply | Promise<Reply> {
    request.body = body
    if (this.options.tracer || request.headers.traceparent) this.trace(route, request)
    route.admission?.begin()
    let reply: Reply | Promise<Reply>
    try {
      if (route.body) checkBodyType(route.body.type, request)
      const { trace } = request
      reply = trace ? within(trace, () => route.handle(request)) : route.handle(request)
    } catch (thrown) {
      return this.handlerFailed(thrown, route, request)
    }
    if (!(reply instanceof Promise)) return this.handled(reply, route, request)
    return reply.then(
      (value) => this.handled(value, route, request),
      (thrown) => this.handlerFailed(thrown, route, request),
    )
  }

  private handled(reply: Reply, route: Route, request: Request): Reply {
    route.admission?.end()
    return this.finishStep(reply, request, route, request.notes.refusal)
  }

  private handlerFailed(thrown: unknown, route: Route, request: Request): Reply {
    route.admission?.end()
    const error = asOAuthError(thrown)
    const reply = route.renderError?.(error, request) ?? this.problemOf(error, request, route)
    return this.finishStep(reply, request, route, error)
  }

  private finishStep(reply: Reply, request: Request, route: Route, error: OAuthError | undefined): Reply {
    if (route.step) this.options.onStep?.(route.step, request, reply, error)
    if (request.notes.isOperatorsClient) this.options.share?.know(request.remote)
    if (error?.more.uncounted && !route.unlimited) {
      this.options.limiter?.giveBack()
      this.options.share?.giveBack(request.remote)
    }
    return this.finish(reply, request, route, error)
  }

  private trace(route: Route, request: Request): void {
    const parent = parseTraceparent(request.headers.traceparent)
    request.trace = this.options.tracer?.begin(`${route.method} ${route.path}`, parent, {
      'http.request.method': request.method,
      'http.route': route.path,
      request_id: request.id,
    })
    request.trace_id = request.trace?.trace_id ?? parent?.trace_id
  }

  private preflight(methods: ReadonlyMap<Method, Match>, request: Request): Reply {
    const { path, cors, ...route } = anyOf(methods)
    if (!cors) return this.finish(this.problemOf(wrongMethod(methods), request, route), request, { path })
    return this.finish(empty(204, this.cors.preflightHeaders(request)), request, { path, cors })
  }

  /** Answers without the handler. A connection whose body was not read must be closed: the body would be parsed as the next request. */
  private refuse(error: OAuthError, request: Request, place: MatchedRoute, close: boolean): Reply {
    return this.finish({ ...this.problemOf(error, request, place), close }, request, place, error)
  }

  private problemOf(error: OAuthError, request: Request, { hasJsonErrors, renderProblem }: Refusing): Reply {
    if (renderProblem) return renderProblem(error)
    const isJson = request.headers.accept === undefined && hasJsonErrors?.(request)
    return problem(error, request, request.id, isJson ? 'json' : this.options.errors)
  }

  private refuseUnknown(request: Request, close: boolean): Reply {
    const error = unknownPath()
    const { renderUnknown } = this.options
    // A form or a program gets no page.
    if (close || !renderUnknown) return this.refuse(error, request, UNMATCHED, close)
    return this.finish(renderUnknown(error, request), request, UNMATCHED, error)
  }

  /** Delays refusals under overload when their bodies can be skipped, because clients would otherwise repeat the requests immediately. */
  private refuseOverload(error: OAuthError, request: Request, route: Route, canSkip: boolean): Reply | Promise<Reply> {
    const refused = () => this.refuse(error, request, route, !canSkip)
    return (canSkip ? route.admission?.hold()?.then(refused) : undefined) ?? refused()
  }

  /** Gives an answer its headers, counts and times it, ends its span and logs it. */
  private finish(reply: Reply, request: Request, { path, cors }: MatchedRoute, error?: OAuthError): Reply {
    const { headers, metrics, requests, isDraining } = this.options
    if (statesNoLength(request) || isDraining?.()) reply.close = true
    for (const name in headers) reply.headers[name] ??= headers[name] as string
    if (cors) this.cors.addTo(reply, request)
    const seconds = (performance.now() - request.startedMs) / 1000
    // A fixed set of label values, whatever method is sent.
    const method = METHODS.has(request.method) ? request.method : 'other'
    const labels = { method, path, status: String(reply.status) }
    metrics.count('core_http_requests_total', labels)
    metrics.observe('core_http_request_duration_seconds', seconds, labels)
    if (error) metrics.count('ext_refusals_total', { error: error.code, reason: error.reason })
    if (request.trace) endTrace(request.trace, reply, error)
    if (error || request.notes.remark || requests.hasAll) this.log(reply, request, path, seconds, error)
    return reply
  }

  private log({ status }: Reply, request: Request, path: string, seconds: number, error?: OAuthError): void {
    this.options.requests.answered({
      request_id: request.id,
      trace_id: request.trace_id,
      method: request.method,
      path,
      status,
      ms: Math.round(seconds * 1e5) / 100,
      remote: request.remote,
      client_id: request.notes.client_id,
      error,
      unverified: request.notes.unverified,
      remark: request.notes.remark,
    })
  }
}

/** One literal, so that all requests have one hidden class: handlers read them on the hot path. */
const newRequest = ({ method, path, query, headers, repeated }: RequestHead, remote: string): Request => ({
  method,
  path,
  query,
  headers,
  repeated,
  remote,
  id: newId(),
  startedMs: performance.now(),
  params: NO_PARAMS,
  body: NO_BODY,
  notes: {},
})

const mayHaveBody = ({ method }: RequestHead): boolean => method !== 'GET' && method !== 'HEAD'

/** Whether the engine can skip the body and keep the connection: its length is known and small, and the client does not wait for `100 Continue`. */
function canSkipBody(request: RequestHead, limit: number): boolean {
  const { 'content-length': size, expect } = request.headers
  return !mayHaveBody(request) || (size !== undefined && Number(size) <= limit && expect === undefined)
}

function endTrace(trace: Trace, { status }: Reply, error: OAuthError | undefined): void {
  trace.set({ 'http.response.status_code': status, ...(error ? { 'error.reason': error.reason } : {}) })
  trace.end(status >= 500 ? (error?.reason ?? 'server_error') : undefined)
}

const anyOf = (methods: ReadonlyMap<Method, Match>): Route => (methods.values().next().value as Match).route

/** The route of a method. HEAD has that of GET. */
function matchOf(methods: ReadonlyMap<Method, Match>, method: string): Match | undefined {
  if (method !== 'HEAD') return methods.get(method as Method)
  const match = methods.get('GET')
  return match?.route.hasEffects ? undefined : match
}

const unknownPath = () => new OAuthError('not_found', 'this path does not exist', { reason: 'not_found' })

function wrongMethod(methods: ReadonlyMap<Method, Match>): OAuthError {
  const allow = [...methods].flatMap(([method, { route }]) =>
    method === 'GET' && !route.hasEffects ? ['GET', 'HEAD'] : [method],
  )
  return new OAuthError('method_not_allowed', `this path accepts the methods ${allow.join(', ')}`, {
    headers: { allow: allow.join(', ') },
  })
}
const lengthRequired = () => new OAuthError('length_required', 'the request must state the length of its body')
const tooMany = (wait: number, reason: 'address_limited' | 'rate_limited') =>
  new OAuthError('slow_down', 'too many requests', { reason, headers: { 'retry-after': String(wait) } })
const tooLarge = (limit: number): OAuthError =>
  new OAuthError('content_too_large', `the body may have at most ${limit} bytes`)
const noRoom = (): OAuthError => overloaded('body_room', 'the memory for incomplete request bodies is full')
