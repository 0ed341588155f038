// The log lines of requests. Every refused request has a line, up to a number of lines per second; beyond it only their count.
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
  /** The client that the request names, whether or not it exists. */
  client_id: string | undefined
  /** What a refused assertion claims. */
  unverified?: Readonly<Record<string, string>> | undefined
  error: OAuthError | undefined
  /** What an operator should know about a request that was not refused. */
  remark?: { reason: string; text: string } | undefined
}
export interface RequestLog {
  /** Whether requests that were not refused are logged too. */
  readonly hasAll: boolean
  answered(request: Answered): void
}

const LINES_PER_SECOND = 50
const SECOND_MS = 1000
/** Interval between two lines about the same limit, or about the same unavailable part. */
const REPEAT_MS = 10_000
const MAX_CLIENT_ID = 256
const REFUSED = 'request refused'

/** Opens the request log of one of `threads` threads, which share the lines of a second. */
export function openRequestLog(log: Logger, threads: number): RequestLog {
  const writeRefused = refusalLines(log, Math.floor(LINES_PER_SECOND / threads) || 1)
  const [counters, overloads] = [new Counters(), new Counters()]
  const outages = new Outages()
  return {
    get hasAll() {
      return log.isLevelEnabled('debug')
    },
    answered({ error, client_id, remark, ...request }) {
      const client = client_id?.slice(0, MAX_CLIENT_ID)
      if (!error) {
        if (remark)
          counters.countAndReport(`${remark.reason} ${client}`, (requests) =>
            log.info({ reason: remark.reason, client_id: client, requests }, remark.text),
          )
        return log.debug({ ...request, client_id }, 'request')
      }
      const { code, reason, status } = error
      if (isOverloaded(error))
        return overloads.countAndReport(reason, (requests) =>
          log.warn({ reason, requests }, 'overload: requests were refused with 503'),
        )
      if (status === 429)
        return counters.countAndReport(`${reason} ${error.more.about?.['client_id'] ?? ''}`, (requests) =>
          log.info({ reason, ...error.more.about, requests }, 'requests beyond a limit were refused with 429'),
        )
      // A device polls until its user decides: each refusal before that is expected.
      if (code === 'authorization_pending') return log.debug({ ...request, client_id, error: code }, 'request')
      // The configuration key that would allow the request.
      const key = error.more.about?.['key']
      const fields = { ...request, client_id: client, error: code, reason, ...(key === undefined ? {} : { key }) }
      if (error.more.uncounted)
        return counters.countAndReport(
          `${reason} ${client}`,
          (requests) => log.info({ reason, client_id: client, requests }, 'requests of a client were refused'),
          () => writeRefused(fields),
        )
      const isFault = status >= 500 && (code !== 'temporarily_unavailable' || outages.isNew(reason))
      if (isFault) log.error({ ...fields, err: error.cause ?? error }, 'request failed')
      else writeRefused(fields)
    },
  }
}

/** A line for each refused request up to a number per second; the others are counted. */
function refusalLines(log: Logger, perSecond: number): (fields: object) => void {
  const omitted = new Counters()
  let left = 0
  let endsMs = Number.NEGATIVE_INFINITY
  return (fields) => {
    const nowMs = performance.now()
    if (nowMs >= endsMs) {
      left = perSecond
      endsMs = nowMs + SECOND_MS
    }
    if (left-- > 0) return log.info(fields, REFUSED)
    log.debug(fields, REFUSED)
    omitted.count('left_out', SECOND_MS, (left_out) =>
      log.info({ left_out }, 'more requests were refused than are logged'),
    )
  }
}

/** Maximum number of keys of one interval: a key contains a client_id. Events of further keys are in the metrics only. */
const MAX_COUNTED = 1000

type Report = (count: number) => void

/** Events that are counted and reported at intervals, by key. */
class Counters {
  private readonly counts = new Map<string, number>()

  /** Reports the first event at once, and the number of further ones after each interval. */
  countAndReport(key: string, report: Report, first: () => void = () => report(1)): void {
    if (this.counts.has(key)) this.count(key, REPEAT_MS, report)
    else if (this.counts.size < MAX_COUNTED) {
      first()
      this.begin(key, 0, REPEAT_MS, report)
    }
  }

  /** Counts an event, and reports the number of events after the interval. */
  count(key: string, everyMs: number, report: Report): void {
    const before = this.counts.get(key)
    if (before === undefined) this.begin(key, 1, everyMs, report)
    else this.counts.set(key, before + 1)
  }

  private begin(key: string, count: number, everyMs: number, report: Report): void {
    this.counts.set(key, count)
    setTimeout(() => this.end(key, everyMs, report), everyMs).unref()
  }

  private end(key: string, everyMs: number, report: Report): void {
    const count = this.counts.get(key) ?? 0
    this.counts.delete(key)
    if (count === 0) return
    report(count)
    // Further events wait for another interval.
    this.begin(key, 0, everyMs, report)
  }
}

/** Parts that are unavailable: their requests all fail alike, so one line per interval is enough. */
class Outages {
  private readonly reportedMs = new Map<string, number>()

  /** Whether a part was not reported within the last interval. Marks it as reported. */
  isNew(reason: string): boolean {
    const nowMs = performance.now()
    if (nowMs - (this.reportedMs.get(reason) ?? Number.NEGATIVE_INFINITY) < REPEAT_MS) return false
    this.reportedMs.set(reason, nowMs)
    return true
  }
}
