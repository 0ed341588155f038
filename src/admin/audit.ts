// Queries of the audit trail.
import { z } from 'zod'
import type { App } from '../context.ts'
import { eventJson } from '../events/event_json.ts'
import { bool, int, text, time, word } from '../lib/field.ts'
import { ID, idFloor, idTime } from '../lib/id.ts'
import { DAY, HOUR } from '../lib/time.ts'
import { AUDIT_ACTIONS } from '../oauth/audit_events.ts'
import type { AuditEvent } from '../records/audit_event.ts'
import type { AuditFilter } from '../store/tokens/audit_trail.ts'
import { type AdminResource, action } from './action.ts'
import * as answers from './answers/answers.ts'
import { earlier, exportEvent, idRange, newestFirst, range, type TimeRange } from './export.ts'
import { after, q } from './lists.ts'
import { invalid } from './outcome.ts'
import { exportFlags, timeFlags } from './time_flags.ts'

const LOOKBACK = DAY
const MAX_LOOKBACK = 720 * HOUR

/** Seconds within which the events of a request are recorded. */
const REQUEST_SECONDS = HOUR

/** The time of a request, which its id contains, within a range: no other events are read. */
function requestRange(request_id: string, { since = 0, until = Number.POSITIVE_INFINITY }: TimeRange, now: number) {
  const from = Math.max(since, Math.min(idTime(request_id), now))
  return { since: from, until: Math.min(until, from + REQUEST_SECONDS) }
}

/** The last 50 events of requests from an address within 30 days, newest first, as the admin API shows them. */
export async function eventsOfAddress(app: Pick<App, 'store' | 'clock'>, address: string) {
  const since = idFloor(app.clock.now() - MAX_LOOKBACK)
  return (await app.store.listAudit({ ip: address, since, limit: 50, offset: 0 })).map(eventJson)
}

/** The events of one request, newest first, as the admin API shows them. */
export async function eventsOfRequest({ store, clock }: Pick<App, 'store' | 'clock'>, request_id: string) {
  const bounds = idRange(requestRange(request_id, {}, clock.now()))
  const found = await store.listAudit({ ...bounds, request_id, limit: 50, offset: 0 })
  return found.map(eventJson)
}

const filters = {
  action: word(AUDIT_ACTIONS).optional().describe('Only events with this action.'),
  actor_id: text(2048).optional().describe('Only events of this user, client or operator.'),
  client_id: text(2048).optional().describe('Only events about this client.'),
  address: text(64).optional().describe('Only events of requests from this address. Without issued tokens.'),
  about: text(256)
    .optional()
    .describe('Only events about the user, the resource or the other record with this id. Without issued tokens.'),
  q: q.describe(
    'Only events that contain this text in the action, the actor, the client, the address or the detail. Without issued tokens. One request searches 50,000 events; the header Link then names the request that continues.',
  ),
  issued: bool().prefault(true).describe('With false, without the events of issued tokens.'),
}
type Filter = Omit<AuditFilter, 'ip' | 'limit' | 'offset'> & { address?: string; q?: string }

/** Rows of one window of a search. It is small, so that token requests do not wait for an operator. */
const WINDOW_ROWS = 5000
/** Rows that the search of one request reads: a second, also on a slow disk. */
const MOST_ROWS = 50_000

interface FoundEvents {
  events: AuditEvent[]
  /** The last row that was read, if older ones may fit. */
  stopped?: string
}
/** Up to `limit` events that fit, newest first. The search for a text reads at most `most` rows. */
async function eventsOf(
  { store }: Pick<App, 'store'>,
  { address: ip, q: text, issued, ...rest }: Filter,
  limit: number,
  most: number,
): Promise<FoundEvents> {
  const filter = { ...rest, ip }
  if (text === undefined) return { events: await store.listAudit({ ...filter, issued, limit, offset: 0 }) }
  const events: AuditEvent[] = []
  for (let { until } = filter, left = most; ; left -= WINDOW_ROWS) {
    const found = await store.searchAudit({ ...filter, until, q: text, rows: WINDOW_ROWS })
    events.push(...found.events)
    if (found.next === undefined || events.length >= limit) return { events: events.slice(0, limit) }
    until = found.next
    if (left <= WINDOW_ROWS) return { events, stopped: until }
  }
}

export const auditTrail: AdminResource = {
  name: 'audit',
  doc: 'The audit trail: who did what, and when.',
  columns: ['created_at', 'action', 'actor_id', 'client_id', 'ip', 'request_id'],
  actions: {
    list: action('GET /admin/audit', {
      doc: 'Lists audit events, newest first.',
      answer: z.array(answers.auditEvent),
      tool: { name: 'audit', title: 'The audit trail', rows: 'events', reasons: true },
      query: z.strictObject({
        ...filters,
        request_id: z
          .string()
          .regex(ID, 'must be the id of a request')
          .optional()
          .describe('Only events of this request: the request_id of an error page, an answer or a log line.'),
        since: time()
          .optional()
          .describe('Start time. Default: 24 hours ago, or the time of the request. At most 720 hours ago.'),
        until: time().optional().describe('End time, exclusive.'),
        limit: int(1, 1000).prefault(50).describe('Maximum number of items.'),
        after,
        offset: int(0, 100_000).prefault(0).describe('Number of items to skip.'),
      }),
      cli: {
        flags: timeFlags(
          'Start time, at most 30d ago. Default: 24h ago, or the time of the request.',
          'End time, exclusive.',
        ),
      },
      async run(app, { query: { since: from, until, after: behind, limit, offset, ...filter } }) {
        const now = app.clock.now()
        if (from !== undefined && from < now - MAX_LOOKBACK)
          throw invalid('since must be within the last 720 hours', 'since_too_old')
        const { request_id } = filter
        const bounds = idRange(
          request_id === undefined
            ? { since: from ?? now - LOOKBACK, until }
            : requestRange(request_id, { since: from, until }, now),
        )
        const within = { ...filter, ...bounds, until: earlier(bounds.until, behind) }
        const { events, stopped } = await eventsOf(app, within, limit + offset, MOST_ROWS)
        const next = stopped && { after: stopped, offset: Math.max(0, offset - events.length) }
        return { shown: events.slice(offset).map(eventJson), ...(next ? { next } : {}) }
      },
    }),
    export: action('GET /admin/audit/export', {
      doc: 'Streams audit events as JSON lines, newest first.',
      answer: answers.auditEvent,
      lines: true,
      audit: 'data_exported',
      query: z.strictObject({ ...filters, ...range }),
      cli: { flags: exportFlags },
      async run(app, { query }) {
        const { since, until, ...filter } = query
        const bounds = idRange({ since, until })
        const page = async (before: string | undefined, limit: number) =>
          (await eventsOf(app, { ...filter, ...bounds, until: before }, limit, Number.POSITIVE_INFINITY)).events
        const noted = exportEvent(app.config, 'audit_events', query)
        return { shown: newestFirst(page, bounds.until, eventJson), noted }
      },
    }),
  },
}
