// The HTTP client for all outgoing requests. A name is resolved once, all of its addresses are checked, and the connection goes to a
// checked address. Each request has its own connection, so that no request depends on an older check.

import { createRequire } from 'node:module'
import type { buildConnector as BuildConnector, Dispatcher, Client as HttpClient } from 'undici'
import type { Config } from '../config/schema.ts'
import { userAgent } from '../lib/build.ts'
import { codeOf, OAuthError } from '../lib/error.ts'
import { SingleFlight } from '../lib/single_flight.ts'
import { type LookUp, lookUpName, socketLookup } from '../lib/system_names.ts'
import { parseHttpUrl } from '../lib/url.ts'
import { type AddressRules, addressFault, addressRules, literalAddress, type OutboundPart } from './address_rules.ts'
import { decompressed, limitReceivedBytes, readAll } from './body.ts'
import { FetchError, fetchErrorOf } from './error.ts'
import type { Fetcher, FetchReply, FetchRequest } from './fetcher.ts'
import { Semaphore } from './semaphore.ts'

export interface FetcherOptions extends AddressRules {
  userAgent: string
  /** Resolves host names: createPublicNames() for untrusted names, otherwise the resolver of the system. */
  resolve?: LookUp
  /** Maximum number of concurrent fetches. */
  maxTotal?: number
  maxPerHost?: number
}

const require = createRequire(import.meta.url)
type SendRequest = (this: HttpClient, options: Dispatcher.RequestOptions) => Promise<Dispatcher.ResponseData>

/**
 * Loads the HTTP library. This blocks the thread for 20 ms, once. A server loads it while it waits for other parts to start; a command loads
 * it with its first request. The entry point of undici would load five times as much. Its files are not imported, because Node would first
 * search them for the names that they export.
 */
export function loadHttpClient() {
  const Client = require('undici/lib/dispatcher/client.js') as typeof HttpClient
  const buildConnector = require('undici/lib/core/connect.js') as typeof BuildConnector
  const request = require('undici/lib/api/api-request.js') as SendRequest
  return { Client, buildConnector, request }
}

/** The client for the requests of one part, with the addresses that its key `allow_hosts` allows. */
export const openFetcher = (config: Config, part: OutboundPart): Fetcher =>
  createFetcher({ ...addressRules(config, part), userAgent: userAgent() })

/** Creates the client. It follows no redirects, uses no proxy from the environment, has no cookies and requests no compression. */
export function createFetcher(options: FetcherOptions): Fetcher {
  const { userAgent, resolve = lookUpName, maxTotal = 32, maxPerHost = 8 } = options
  const total = new Semaphore(maxTotal)
  const hosts = new Map<string, Semaphore>()
  const gets = new SingleFlight<FetchReply>()

  async function addressesOf(url: URL): Promise<string[]> {
    const literal = literalAddress(url)
    const addresses = literal === undefined ? await resolveOrFail(resolve, url.hostname, url.host) : [literal]
    const fault = addressFault(url, addresses, options)
    if (fault) throw fault
    return addresses
  }

  /** Acquires the semaphore of the host first, and the common one after the lookup: a slow host or name must not delay others. */
  async function inTurn(url: URL, request: FetchRequest, signal: AbortSignal): Promise<FetchReply> {
    const gate = hosts.get(url.hostname) ?? new Semaphore(maxPerHost)
    hosts.set(url.hostname, gate)
    try {
      return await gate.run(async () => {
        signal.throwIfAborted()
        const addresses = await addressesOf(url)
        return total.run(async () => {
          signal.throwIfAborted()
          return exchange(url, { ...request, headers: headersOf(request, userAgent) }, addresses, signal)
        })
      })
    } finally {
      if (gate.isIdle) hosts.delete(url.hostname)
    }
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

async function exchange(url: URL, wanted: FetchRequest, addresses: string[], signal: AbortSignal): Promise<FetchReply> {
  const { method = 'GET', headers, body: sent, maxBytes, timeoutMs, showRedirect } = wanted
  const { Client, buildConnector, request } = loadHttpClient()
  // The host and the TLS server name are those of the URL. TLS sessions are off: a ticket could carry bytes of one peer to another.
  const connect = buildConnector({
    lookup: socketLookup(async () => addresses),
    timeout: timeoutMs,
    rejectUnauthorized: true,
    maxCachedSessions: 0,
  })
  const client = new Client(url.origin, {
    connect: (target, done) =>
      connect(target, (...outcome) => {
        if (outcome[1]) limitReceivedBytes(outcome[1], maxBytes, url.host)
        done(...outcome)
      }),
  })
  try {
    const path = url.pathname + url.search
    const answer = await request.call(client, { method, path, headers, body: sent, signal, reset: true })
    const status = answer.statusCode
    if (status >= 300 && status < 400 && !showRedirect) throw new FetchError('redirect', url.host, String(status))
    const fields = Object.entries(answer.headers).map(([name, value]) => [name, [value].flat().join(', ')])
    const received: FetchReply['headers'] = Object.fromEntries(fields)
    if (Number(received['content-length']) > maxBytes) throw new FetchError('too_large', url.host)
    const bytes = await readAll(answer.body, maxBytes, url.host)
    return { status, headers: received, body: await decompressed(bytes, received, maxBytes, url.host) }
  } catch (error) {
    throw fetchErrorOf(error, url.host)
  } finally {
    client.destroy().catch(() => {})
  }
}
