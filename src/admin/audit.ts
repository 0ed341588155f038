// Queries of the audit trail.
import { z } from 'zod'
import type { App } from '../context.ts'
import { eventJson } from '../events/event_json.ts'
import { int, text, time, word } from '../lib/field.ts'
import { ID, idTime } from '../lib/id.ts'
import { DAY, HOUR } from '../lib/time.ts'
import { AUDIT_ACTIONS } from '../oauth/audit_events.ts'
import { type AdminResource, action } from './action.ts'
import * as answers from './answers/answers.ts'
import { earlier, exported, idRange, mapRows, newestFirst, range, type TimeRange } from './export.ts'
import { after } from './lists.ts'
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
}

export const auditTrail: AdminResource = {
  name: 'audit',
  doc: 'The audit trail: who did what, and when.',
  columns: ['created_at', 'action', 'actor_id', 'client_id', 'ip', 'request_id'],
  actions: {
    list: action({
      method: 'GET',
      path: '/admin/audit',
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
      async run({ store, clock }, { query: { since: from, until, after: behind, ...filter } }) {
        const now = clock.now()
        if (from !== undefined && from < now - MAX_LOOKBACK)
          throw invalid('since must be within the last 720 hours', 'since_too_old')
        const { request_id } = filter
        const bounds = idRange(
          request_id === undefined
            ? { since: from ?? now - LOOKBACK, until }
            : requestRange(request_id, { since: from, until }, now),
        )
        const found = await store.listAudit({ ...filter, ...bounds, until: earlier(bounds.until, behind) })
        return { shown: found.map(eventJson) }
      },
    }),
    export: action({
      method: 'GET',
      path: '/admin/audit/export',
      doc: 'Streams audit events as JSON lines, newest first.',
      answer: answers.auditEvent,
      lines: true,
      audit: 'data_exported',
      query: z.strictObject({ ...filters, ...range }),
      cli: { flags: exportFlags },
      async run({ store, config }, { query }) {
        const { since, until, ...filter } = query
        const bounds = idRange({ since, until })
        const page = (before: string | undefined, limit: number) =>
          store.listAudit({ ...filter, ...bounds, until: before, limit, offset: 0 })
        return {
          shown: mapRows(newestFirst(page, bounds.until), eventJson),
          ...exported(config, 'audit_events', query),
        }
      },
    }),
  },
}
