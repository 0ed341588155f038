// Tracing of the parts that a request uses: a traced request gets copies that put a span around each call.
import type { App } from '../context.ts'
import type { Request } from '../http/message.ts'
import type { Fetcher, FetchRequest } from '../net/fetcher.ts'
import type { Trace } from '../telemetry/trace.ts'

/** The original app of each traced app, so that a traced app is never wrapped again. */
const originals = new WeakMap<App, App>()

/** The app with a span below `trace` around each call. */
function tracedBy(app: App, trace: Trace): App {
  const { store, crypto, fetcher, brokerFetcher, ...rest } = originals.get(app) ?? app
  const traced: App = {
    ...rest,
    store: store.within(trace),
    crypto: {
      ...crypto,
      sign: (key, claims) =>
        trace.span('crypto sign', { 'crypto.alg': key.alg }, (inner) =>
          crypto.sign(key, claims, (size) => inner.set({ 'batch.size': size })),
        ),
      signBoth: (key, claims, idToken) =>
        trace.span('crypto sign', { 'crypto.alg': key.alg }, (inner) =>
          crypto.signBoth(key, claims, idToken, (size) => inner.set({ 'batch.size': size })),
        ),
      verify: (what) =>
        trace.span('crypto verify', { 'crypto.alg': what.alg }, (inner) =>
          crypto.verify(what, (size) => inner.set({ 'batch.size': size })),
        ),
      hashPassword: (password) => trace.span('password hash', {}, () => crypto.hashPassword(password)),
      verifyPassword: (password, hash) =>
        trace.span('password verify', {}, () => crypto.verifyPassword(password, hash)),
    },
    // Hosts that callers name must not learn trace ids, neither ours nor those that a caller sent.
    fetcher: withSpans(fetcher, trace, () => ({})),
    brokerFetcher: withSpans(brokerFetcher, trace, ({ traceparent }) => ({ traceparent })),
  }
  originals.set(traced, originals.get(app) ?? app)
  return traced
}

/** A fetcher with a span around each fetch. `propagate` returns the trace context that is sent to the peer. */
const withSpans = (
  fetcher: Fetcher,
  trace: Trace,
  propagate: (inner: Trace) => Pick<FetchRequest, 'traceparent'>,
): Fetcher => ({
  fetch: (url, request) =>
    trace.span(
      'fetch',
      { 'server.address': hostOf(url), 'http.request.method': request.method ?? 'GET' },
      async (inner) => {
        const reply = await fetcher.fetch(url, { ...request, ...propagate(inner) })
        inner.set({ 'http.response.status_code': reply.status })
        return reply
      },
    ),
})

/** Only the host is recorded: paths and queries may contain private data. */
const hostOf = (url: string) => (URL.canParse(url) ? new URL(url).host : 'invalid')

/** The app for a request: traced when the request is traced. */
export const forRequest = (app: App, request: Request): App => (request.trace ? tracedBy(app, request.trace) : app)

/** Runs a part of a request, in its own span when the request is traced. */
export const inSpan = <R>(app: App, request: Request, name: string, work: (app: App) => Promise<R>): Promise<R> =>
  request.trace ? request.trace.span(name, {}, (inner) => work(tracedBy(app, inner))) : work(app)
