// What the log says about requests: a line for each that is refused, at most so many a second; of a flood only its size.
import { isOverloaded, type OAuthError } from '../lib/error.ts'
import type { Logger } from '../telemetry/logger.ts'

export interface Answered {
  request_id: string
  trace_id: string | undefined
  method: string
  /** The pattern of the route. */
  path: string
  status: number
  ms: number
  remote: string
  /** The client that the request names, whether or not it is one. */
  client_id: string | undefined
  error: OAuthError | undefined
  /** What an operator should know about a request that was not refused. */
  remark?: { reason: string; text: string } | undefined
}
export interface RequestLog {
  /** Whether a request that was not refused has a line too. */
  readonly hasAll: boolean
  answered(request: Answered): void
}

const LINES_PER_SECOND = 50
const SECOND_MS = 1000
const TELL_EVERY_MS = 10_000
const MAX_CLIENT_ID = 256
const REFUSED = 'request refused'

/** Opens the log of the requests of one of so many threads, which have the lines of a second together. */
export function openRequestLog(log: Logger, threads: number): RequestLog {
  const linesPerSecond = Math.floor(LINES_PER_SECOND / threads) || 1
  const budget = { lines: 0, endsMs: Number.NEGATIVE_INFINITY }
  const counts = new Map<string, number>()
  const failedMs = new Map<string, number>()

  /** Adds one; says after some time how many they are, and the first at once unless it was said otherwise. */
  const count = (key: string, everyMs: number, say: (count: number) => void, sayFirst: boolean): void => {
    const before = counts.get(key)
    if (before === undefined && sayFirst) say(1)
    counts.set(key, (before ?? 0) + (before === undefined && sayFirst ? 0 : 1))
    if (before === undefined) setTimeout(end, everyMs, key, everyMs, say).unref()
  }
  const end = (key: string, everyMs: number, say: (count: number) => void): void => {
    const more = counts.get(key) ?? 0
    counts.delete(key)
    if (more === 0) return
    say(more)
    // The next ones wait as long again.
    counts.set(key, 0)
    setTimeout(end, everyMs, key, everyMs, say).unref()
  }
  const leftOut = (left_out: number) =>
    log.info({ left_out }, 'more requests were refused than there are log lines for')
  const refused = (fields: object): void => {
    const nowMs = performance.now()
    if (nowMs >= budget.endsMs) Object.assign(budget, { lines: linesPerSecond, endsMs: nowMs + SECOND_MS })
    if (budget.lines-- > 0) log.info(fields, REFUSED)
    else {
      log.debug(fields, REFUSED)
      count('left_out', SECOND_MS, leftOut, false)
    }
  }
  /** Whether a part that is away was not told of within the last seconds: its requests all fail alike. */
  const isNew = (reason: string): boolean => {
    const nowMs = performance.now()
    if (nowMs - (failedMs.get(reason) ?? Number.NEGATIVE_INFINITY) < TELL_EVERY_MS) return false
    failedMs.set(reason, nowMs)
    return true
  }

  const remarked = ({ reason, text }: { reason: string; text: string }, client_id: string | undefined): void =>
    count(`${reason} ${client_id}`, TELL_EVERY_MS, (requests) => log.info({ reason, client_id, requests }, text), true)

  return {
    get hasAll() {
      return log.isLevelEnabled('debug')
    },
    answered({ error, client_id, remark, ...request }) {
      if (!error) {
        if (remark) remarked(remark, client_id?.slice(0, MAX_CLIENT_ID))
        return log.debug({ ...request, client_id }, 'request')
      }
      const { code, reason, status } = error
      if (isOverloaded(error)) {
        const told = 'more is asked for than can be answered soon: some requests are told 503'
        return count(reason, TELL_EVERY_MS, (requests) => log.warn({ reason, requests }, told), true)
      }
      if (status === 429) {
        const told = 'requests beyond a limit were answered with 429'
        return count(reason, TELL_EVERY_MS, (requests) => log.info({ reason, requests }, told), true)
      }
      const fields = { ...request, client_id: client_id?.slice(0, MAX_CLIENT_ID), error: code, reason }
      const isFault = status >= 500 && (code !== 'temporarily_unavailable' || isNew(reason))
      if (isFault) log.error({ ...fields, err: error.cause ?? error }, 'request failed')
      else refused(fields)
    },
  }
}
