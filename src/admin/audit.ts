// The query of the audit trail. There is no command for it.
import { z } from 'zod'
import { int, text, word } from '../lib/field.ts'
import { idFloor } from '../lib/id.ts'
import { parseTime, rfc3339 } from '../lib/time.ts'
import { AUDIT_ACTIONS } from '../oauth/audit.ts'
import type { AuditEvent } from '../oauth/types.ts'
import { type AdminResource, action } from './action.ts'
import { invalid } from './outcome.ts'

const LOOKBACK = 86_400
const MAX_LOOKBACK = 720 * 3600

const time = () =>
  z.string().transform((value, context) => {
    const seconds = parseTime(value)
    if (seconds === undefined) context.addIssue('must be an RFC 3339 time such as 2026-03-01T10:00:00Z')
    return seconds ?? 0
  })

/** An event as the admin API shows it. */
const eventJson = (event: AuditEvent) => ({
  id: event.id,
  action: event.action,
  kind: event.action,
  actor_id: event.actor_id,
  client_id: event.client_id ?? '',
  ip: event.ip,
  request_id: event.request_id ?? '',
  detail: event.detail,
  created_at: rfc3339(event.created_at),
  timestamp: rfc3339(event.created_at),
})

export const auditTrail: AdminResource = {
  name: 'audit',
  doc: 'What was done, and by whom.',
  actions: {
    list: action({
      method: 'GET',
      path: '/admin/audit',
      doc: 'Lists audit events, newest first.',
      query: z.strictObject({
        action: word(AUDIT_ACTIONS).optional().describe('Only this kind.'),
        actor_id: text(2048).optional().describe('Only what this user, client or `admin` did.'),
        client_id: text(2048).optional().describe('Only what concerns this client.'),
        since: time().optional().describe('From this time on; 24 hours ago by default, at most 720 hours ago.'),
        until: time().optional().describe('Before this time.'),
        limit: int(1, 1000).prefault(50).describe('At most so many.'),
        offset: int(0, 100_000).prefault(0).describe('Leave out so many.'),
      }),
      cli: false,
      async run({ store, clock }, { query: { since: from, until, ...filter } }) {
        const now = clock.now()
        const since = from ?? now - LOOKBACK
        if (since < now - MAX_LOOKBACK) throw invalid('since must be within the last 720 hours', 'since_too_old')
        if (until !== undefined && until <= since) throw invalid('until must be after since', 'empty_range')
        const found = await store.listAudit({
          ...filter,
          since: idFloor(since),
          until: until === undefined ? undefined : idFloor(until),
        })
        return { shown: found.map(eventJson) }
      },
    }),
  },
}
