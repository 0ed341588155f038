// The parts of the service as a traced request uses them: the same ones, with a span around each call. Others use them bare.
import type { App } from '../context.ts'
import type { Request } from '../http/message.ts'
import type { Fetcher, FetchRequest } from '../net/fetcher.ts'
import type { Trace } from '../telemetry/trace.ts'

/** By a traced app the one it was made of, so that spans are never put around spans. */
const bare = new WeakMap<App, App>()

/** The app on behalf of a span. */
function within(app: App, trace: Trace): App {
  const { store, crypto, fetcher, brokerFetcher, ...rest } = bare.get(app) ?? app
  const traced: App = {
    ...rest,
    store: store.within(trace),
    crypto: {
      ...crypto,
      sign: (key, claims) =>
        trace.span('crypto sign', { 'crypto.alg': key.alg }, (inner) =>
          crypto.sign(key, claims, (size) => inner.set({ 'batch.size': size })),
        ),
      verify: (what) =>
        trace.span('crypto verify', { 'crypto.alg': what.alg }, (inner) =>
          crypto.verify(what, (size) => inner.set({ 'batch.size': size })),
        ),
      hashPassword: (password) => trace.span('password hash', {}, () => crypto.hashPassword(password)),
      verifyPassword: (password, hash) =>
        trace.span('password verify', {}, () => crypto.verifyPassword(password, hash)),
    },
    // A stranger must not learn the ids of our traces, nor those that a caller handed on.
    fetcher: withSpans(fetcher, trace, () => ({})),
    brokerFetcher: withSpans(brokerFetcher, trace, ({ traceparent }) => ({ traceparent })),
  }
  bare.set(traced, bare.get(app) ?? app)
  return traced
}

/** A fetcher with a span around each fetch; `passOn` says what the peer learns of it. */
const withSpans = (
  fetcher: Fetcher,
  trace: Trace,
  passOn: (inner: Trace) => Pick<FetchRequest, 'traceparent'>,
): Fetcher => ({
  fetch: (url, request) =>
    trace.span(
      'fetch',
      { 'server.address': hostOf(url), 'http.request.method': request.method ?? 'GET' },
      async (inner) => {
        const reply = await fetcher.fetch(url, { ...request, ...passOn(inner) })
        inner.set({ 'http.response.status_code': reply.status })
        return reply
      },
    ),
})

/** Paths and queries may hold what is nobody's business. */
const hostOf = (url: string) => (URL.canParse(url) ? new URL(url).host : 'invalid')

/** The app as a request uses it. */
export const forRequest = (app: App, request: Request): App => (request.trace ? within(app, request.trace) : app)

/** Does a part of what a request asks for, in a span of its own where it is traced. */
export const inSpan = <R>(app: App, request: Request, name: string, work: (app: App) => Promise<R>): Promise<R> =>
  request.trace ? request.trace.span(name, {}, (inner) => work(within(app, inner))) : work(app)
