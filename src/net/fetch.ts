// The HTTP client for all outgoing requests. A name is resolved once, all of its addresses are checked, and the connection goes to a
// checked address. Each request has its own connection, unless the client keeps connections: then an open connection is used again if its
// address is one of those that were checked for the request. So no request depends on an older check.
import type { Config } from '../config/schema.ts'
import { userAgent } from '../lib/build.ts'
import { codeOf, OAuthError } from '../lib/error.ts'
import { type LookUp, lookUpName } from '../lib/system_names.ts'
import { SingleFlight } from '../lib/threads/single_flight.ts'
import { parseHttpUrl } from '../lib/url.ts'
import { type AddressRules, addressFault, addressRules, literalAddress, type OutboundPart } from './address_rules.ts'
import { decompressed, readAll } from './body.ts'
import type { PeerCertificates } from './certificates.ts'
import { Connection, IdleConnections } from './connection.ts'
import { FetchError, fetchErrorOf } from './error.ts'
import type { Fetcher, FetchReply, FetchRequest } from './fetcher.ts'
import { Semaphore, Semaphores } from './semaphore.ts'

export interface FetcherOptions extends AddressRules {
  userAgent: string
  /** Resolves host names: createPublicNames() for untrusted names, otherwise the resolver of the system. */
  resolve?: LookUp
  /** Maximum number of concurrent fetches. */
  maxTotal?: number
  maxPerHost?: number
  /** Milliseconds for which an open connection waits for the next request to its origin. By default connections are not used again. */
  keepMs?: number
  /** Takes the ends of the certificates of the servers. */
  certificates?: PeerCertificates
}

/** The client for the requests of one part, with the addresses that its key `allow_hosts` allows. */
export const openFetcher = (config: Config, part: OutboundPart, certificates?: PeerCertificates): Fetcher =>
  createFetcher({ ...addressRules(config, part), userAgent: userAgent(), certificates })

/** Creates the client. It follows no redirects, uses no proxy from the environment, has no cookies and requests no compression. */
export function createFetcher(options: FetcherOptions): Fetcher {
  const { userAgent, resolve = lookUpName, maxTotal = 32, maxPerHost = 8, keepMs = 0 } = options
  const total = new Semaphore(maxTotal)
  const hosts = new Semaphores(maxPerHost)
  const idle = new IdleConnections(keepMs)
  const gets = new SingleFlight<FetchReply>()

  async function addressesOf(url: URL): Promise<string[]> {
    const literal = literalAddress(url)
    const addresses = literal === undefined ? await resolveOrFail(resolve, url.hostname, url.host) : [literal]
    const fault = addressFault(url, addresses, options)
    if (fault) throw fault
    return addresses
  }

  /** Acquires the semaphore of the host first, and the common one after the lookup: a slow host or name must not delay others. */
  function inTurn(url: URL, request: FetchRequest, signal: AbortSignal): Promise<FetchReply> {
    const send = async () => {
      signal.throwIfAborted()
      const addresses = await addressesOf(url)
      return total.run(async () => {
        signal.throwIfAborted()
        const use = { addresses, maxBytes: request.maxBytes }
        const connection =
          idle.take(url.origin, use) ?? new Connection(url, use, request.timeoutMs, options.certificates)
        const sent = { ...request, headers: headersOf(request, userAgent), signal, reset: keepMs === 0 }
        const reply = await exchange(url, sent, connection)
        idle.give(url.origin, connection)
        return reply
      })
    }
    return hosts.run(url.hostname, send)
  }

  const perform = (url: URL, request: FetchRequest): Promise<FetchReply> =>
    withDeadline(request.timeoutMs, url.host, (signal) => inTurn(url, request, signal))

  return {
    async fetch(text, request) {
      const url = checkedUrl(text, request.allowHttp ?? false)
      const { method = 'GET', headers, body, accept, maxBytes, timeoutMs } = request
      // Headers may contain credentials, so the response is for one caller only.
      if (method !== 'GET' || headers || body) return perform(url, request)
      const key = JSON.stringify([url.href, accept, maxBytes, timeoutMs])
      return gets.run(key, () => perform(url, request))
    },
  }
}

function checkedUrl(text: string, allowHttp: boolean): URL {
  const url = parseHttpUrl(text)
  if (!url) throw new FetchError('bad_url', '')
  if (url.username || url.password) throw new FetchError('bad_url', url.host, 'user and password')
  if (url.protocol !== 'https:' && !allowHttp) throw new FetchError('bad_url', url.host, 'not https')
  return url
}

/** Responses are small, so no compression is requested. Some servers compress nevertheless. */
const headersOf = ({ accept = '*/*', headers, traceparent }: FetchRequest, userAgent: string) => ({
  accept,
  'accept-encoding': 'identity',
  'user-agent': userAgent,
  ...(traceparent ? { traceparent } : {}),
  ...headers,
})

/** Rejects when the deadline has passed, and aborts the work by the signal. */
function withDeadline<T>(timeoutMs: number, host: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const deadline = new AbortController()
    const timer = setTimeout(() => {
      deadline.abort(new FetchError('timeout', host))
      reject(deadline.signal.reason)
    }, timeoutMs)
    work(deadline.signal)
      .finally(() => clearTimeout(timer))
      .then(resolve, reject)
  })
}

async function resolveOrFail(resolve: LookUp, hostname: string, host: string) {
  const addresses = await resolve(hostname).catch((error: unknown) => {
    throw error instanceof OAuthError ? error : new FetchError('dns_failed', host, codeOf(error))
  })
  if (addresses.length === 0) throw new FetchError('dns_failed', host)
  return addresses
}

interface Sent extends FetchRequest {
  signal: AbortSignal
  /** Whether the peer is asked to close the connection. */
  reset: boolean
}

/** Sends a request and reads its response. Closes the connection when that fails. */
async function exchange(url: URL, wanted: Sent, connection: Connection): Promise<FetchReply> {
  const { method = 'GET', headers, body: sent, maxBytes, showRedirect, signal, reset } = wanted
  try {
    const path = url.pathname + url.search
    const answer = await connection.send({ method, path, headers, body: sent, signal, reset })
    const status = answer.statusCode
    if (status >= 300 && status < 400 && !showRedirect) throw new FetchError('redirect', url.host, String(status))
    const fields = Object.entries(answer.headers).map(([name, value]) => [name, [value].flat().join(', ')])
    const received: FetchReply['headers'] = Object.fromEntries(fields)
    if (Number(received['content-length']) > maxBytes) throw new FetchError('too_large', url.host)
    const bytes = await readAll(answer.body, maxBytes, url.host)
    return { status, headers: received, body: await decompressed(bytes, received, maxBytes, url.host) }
  } catch (error) {
    connection.close()
    throw fetchErrorOf(error, url.host)
  }
}
