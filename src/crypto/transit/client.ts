// A client of the HTTP API of Vault and OpenBao for the transit engine, with one deadline, one circuit breaker and one token.

import { clip } from '../../lib/bounded.ts'
import { userAgent } from '../../lib/build.ts'
import { isObject } from '../../lib/json.ts'
import type { Clock } from '../../lib/time.ts'
import { Breaker } from '../../net/breaker.ts'
import { FetchError } from '../../net/error.ts'
import { createFetcher } from '../../net/fetch.ts'
import type { Fetcher, FetchReply, FetchRequest } from '../../net/fetcher.ts'
import { jsonObjectOf } from '../../net/json.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { TransitAnswer, TransitJson } from './answer.ts'
import { isUnavailable, storeUnavailable, TransitRefusal } from './error.ts'
import { type Credentials, Lease } from './lease.ts'

export interface TransitAccess {
  /** Name of the settings, for error messages: signing.secretstore_transit. */
  setting: string
  /** URL of the server, /v1 not included. */
  address: string
  credentials: Credentials
  /** Timeout of one call in seconds. */
  timeout: number
}
/** The parts that a client needs. */
export interface TransitParts {
  /** May reach private addresses, because the server belongs to the operator. */
  fetcher: Fetcher
  clock: Clock
  log: Logger
}
/** Creates the parts. The server may be on this machine or in a private network. */
export const transitParts = (clock: Clock, log: Logger): TransitParts => ({
  fetcher: createFetcher({ allowPrivate: true, userAgent: userAgent() }),
  clock,
  log,
})

export type TransitClient = ReturnType<typeof createTransitClient>

type Method = 'GET' | 'POST'

const MAX_BYTES = 4 * 1024 * 1024
const MAX_ERROR_LENGTH = 300

/** Creates a client. Nothing is sent before the first call. */
export function createTransitClient(access: TransitAccess, { fetcher, clock, log }: TransitParts) {
  const breaker = new Breaker('the secret store', clock)
  const base = access.address.replace(/\/+$/, '')
  const timeoutMs = access.timeout * 1000

  const send = (method: Method, path: string, body?: object, token?: string): Promise<TransitAnswer> =>
    breaker.run(async () => {
      const url = `${base}/v1/${path}`
      const options = { ...requestOf(method, body, token), timeoutMs, allowHttp: url.startsWith('http:') }
      const reply = await follow(fetcher, url, options).catch((error: unknown) => {
        throw storeUnavailable(error)
      })
      return answerOf(reply, path)
    }, isUnavailable)

  const lease = new Lease({ ...access, send, clock, log })

  return {
    /** Whether the last calls all failed; then no calls are sent for some seconds. */
    get isUnavailable(): boolean {
      return breaker.isOpen
    },
    /** `data` of the answer; undefined for 404. Rejects with TransitRefusal for other 4xx, else with 503. */
    async call(method: Method, path: string, body?: object): Promise<TransitJson | undefined> {
      const token = await lease.token()
      let answer = await send(method, path, body, token)
      if (answer.status === 403) {
        const fresh = await lease.replace(token)
        if (fresh) answer = await send(method, path, body, fresh)
      }
      if (answer.status === 404) return undefined
      if (answer.status >= 300) throw new TransitRefusal(answer.status, path, answer.errors)
      return answer.data
    },
  }
}

const requestOf = (method: Method, body?: object, token?: string) => ({
  method,
  body: method === 'POST' ? JSON.stringify(body ?? {}) : undefined,
  headers: {
    'x-vault-request': 'true',
    ...(token ? { 'x-vault-token': token } : {}),
    ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
  },
  accept: 'application/json',
  maxBytes: MAX_BYTES,
})

/** A standby redirects to the active server. One redirect is followed, and never from https to http. */
async function follow(fetcher: Fetcher, url: string, options: FetchRequest): Promise<FetchReply> {
  const reply = await fetcher.fetch(url, { ...options, showRedirect: true })
  if (reply.status !== 307 && reply.status !== 308) return reply
  const location = reply.headers['location'] ?? ''
  if (!URL.canParse(location, url)) throw new FetchError('redirect', new URL(url).host)
  return fetcher.fetch(new URL(location, url).href, options)
}

/** Reads an answer. Throws 503 for errors of the server itself: sealed, standby without a leader, overloaded. */
function answerOf(reply: FetchReply, path: string): TransitAnswer {
  const { data, auth, errors } = jsonObjectOf(reply) ?? {}
  const said = Array.isArray(errors) ? errors.filter((each) => typeof each === 'string').join('; ') : ''
  const answer = {
    status: reply.status,
    data: objectOf(data),
    auth: objectOf(auth),
    errors: clip(said.trim(), MAX_ERROR_LENGTH),
  }
  if (reply.status < 500 && reply.status !== 429) return answer
  throw storeUnavailable(new TransitRefusal(reply.status, path, answer.errors))
}

const objectOf = (value: unknown): TransitJson => (isObject(value) ? value : {})
