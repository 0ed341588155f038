// Spans around the calls that leave the thread of a request: signatures, passwords and outbound requests. The store has its own.
import type { CryptoLanes } from '../crypto/pool.ts'
import type { BatchListener } from '../lib/threads/lane.ts'
import type { Fetcher, FetchRequest } from '../net/fetcher.ts'
import { type Attributes, activeTrace, inSpan, type Trace } from '../telemetry/trace.ts'

/** The lanes with a span around each call of a traced request. */
export const tracedCrypto = (crypto: CryptoLanes): CryptoLanes => ({
  ...crypto,
  sign: (key, claims) =>
    batched('crypto sign', { 'crypto.alg': key.alg }, (onBatch) => crypto.sign(key, claims, onBatch)),
  signBoth: (key, claims, idToken) =>
    batched('crypto sign', { 'crypto.alg': key.alg }, (onBatch) => crypto.signBoth(key, claims, idToken, onBatch)),
  verify: (what) => batched('crypto verify', { 'crypto.alg': what.alg }, (onBatch) => crypto.verify(what, onBatch)),
  hashPassword: (password) => inSpan('password hash', () => crypto.hashPassword(password)),
  verifyPassword: (password, hash, kinds) =>
    inSpan('password verify', () => crypto.verifyPassword(password, hash, kinds)),
})

/** Runs a call whose span has the size of its batch. */
function batched<R>(name: string, attributes: Attributes, call: (onBatch?: BatchListener) => Promise<R>): Promise<R> {
  const trace = activeTrace()
  return trace ? trace.span(name, attributes, (inner) => call((size) => inner.set({ 'batch.size': size }))) : call()
}

/** A fetcher with a span around each fetch of a traced request. `propagate` returns the trace context that is sent to the peer. */
export const tracedFetcher = (
  fetcher: Fetcher,
  propagate: (inner: Trace) => Pick<FetchRequest, 'traceparent'> = () => ({}),
): Fetcher => ({
  fetch: (url, request) => {
    const trace = activeTrace()
    if (!trace) return fetcher.fetch(url, request)
    const attributes = { 'server.address': hostOf(url), 'http.request.method': request.method ?? 'GET' }
    return trace.span('fetch', attributes, async (inner) => {
      const reply = await fetcher.fetch(url, { ...request, ...propagate(inner) })
      inner.set({ 'http.response.status_code': reply.status })
      return reply
    })
  },
})

/** Only the host is recorded: paths and queries may contain private data. */
const hostOf = (url: string) => (URL.canParse(url) ? new URL(url).host : 'invalid')
