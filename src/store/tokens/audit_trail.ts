// Operations on the audit trail.
import type { AuditEvent } from '../../records/audit_event.ts'
import { type Condition, change, containing, idBytes, idText, is, type Op, one, where } from '../op.ts'
import { EVENTS, ISSUANCES, ISSUED_ACTIONS, isAbout, issuanceEvent } from '../record.ts'

/** Replaces the detail of an event. */
export function* completeAudit({ id, detail }: Pick<AuditEvent, 'id' | 'detail'>): Op<void> {
  yield* change`UPDATE audit_events SET detail = ${JSON.stringify(detail)} WHERE id = ${idBytes(id)}`
}

/** Adds an event to the audit trail. */
export const recordAudit = (event: AuditEvent) => EVENTS.add(event)

/** Adds events to the audit trail. */
export function* recordAudits(events: readonly AuditEvent[]): Op<void> {
  yield* EVENTS.insert(events)
}

interface EventFilter {
  action?: string
  actor_id?: string
  client_id?: string
  request_id?: string
  /** The address of the request. */
  ip?: string
  /** The id of the user, the resource or another record that the event is about. */
  about?: string
  since: string
  until?: string
}
export interface AuditFilter extends EventFilter {
  /** Whether issued tokens are among the events. Default: true. They have no index by their address, and are about no other record. */
  issued?: boolean
  limit: number
  offset: number
}

const inRange = ({ since, until, client_id }: EventFilter, ...more: (Condition | undefined)[]) =>
  where(
    ['id >= ?', idBytes(since)],
    until === undefined ? undefined : ['id < ?', idBytes(until)],
    is('client_id', client_id),
    ...more,
  )
const fitsEvent = (f: EventFilter): (Condition | undefined)[] => [
  is('action', f.action),
  is('actor_id', f.actor_id),
  is('request_id', f.request_id === undefined ? undefined : idBytes(f.request_id)),
  is('ip', f.ip),
  is('about', f.about),
]

/** Newest first. An issuance is its own event, so that no token costs two rows. */
export function* listAudit(f: AuditFilter): Op<AuditEvent[]> {
  const page = f.limit + f.offset
  const others = yield* EVENTS.list`${inRange(f, ...fitsEvent(f))} ORDER BY id DESC LIMIT ${page}`
  if (f.issued === false || f.ip !== undefined || f.about !== undefined) return others.slice(f.offset)
  const issued = inRange(
    f,
    f.action === undefined ? undefined : (ISSUED_ACTIONS[f.action] ?? ['1 = 0']),
    isAbout(f.actor_id),
    // The id of a request is the id of the token that it issued.
    is('id', f.request_id === undefined ? undefined : idBytes(f.request_id)),
  )
  const tokens = yield* ISSUANCES.list`${issued} ORDER BY id DESC LIMIT ${page}`
  const merged = [...others, ...tokens.map(issuanceEvent)]
  return merged.sort((a, b) => Buffer.compare(idBytes(b.id), idBytes(a.id))).slice(f.offset, page)
}

export interface AuditSearch extends EventFilter {
  /** The text that an event contains. */
  q: string
  /** Number of rows to examine. */
  rows: number
}
/** The events among the newest `rows` of a range that contain a text, newest first, and the id before which the search continues. */
export function* searchAudit(f: AuditSearch): Op<{ events: AuditEvent[]; next?: string }> {
  const range = inRange({ since: f.since, until: f.until })
  const last = yield* one`SELECT id FROM audit_events ${range} ORDER BY id DESC LIMIT 1 OFFSET ${f.rows - 1}`
  const next = last && idText(last.id)
  const fits = inRange(
    { ...f, since: next ?? f.since },
    ...fitsEvent(f),
    containing(f.q, 'action', 'actor_id', 'client_id', 'ip', 'detail'),
  )
  const events = yield* EVENTS.list`${fits} ORDER BY id DESC`
  return { events, ...(next === undefined ? {} : { next }) }
}
