// Operations on the audit trail.
import type { AuditEvent } from '../../records/audit_event.ts'
import {
  all,
  type Condition,
  change,
  containing,
  idBytes,
  idText,
  insertRows,
  is,
  maybeIdBytes,
  type Op,
  one,
  orNull,
  type Param,
  where,
} from '../op.ts'
import {
  EVENT_COLUMNS,
  ISSUANCE_COLUMNS,
  ISSUED_ACTIONS,
  isAbout,
  issuanceEvent,
  readEvent,
  readIssuance,
} from '../record.ts'

/** Replaces the detail of an event. */
export function* completeAudit({ id, detail }: Pick<AuditEvent, 'id' | 'detail'>): Op<void> {
  yield* change('UPDATE audit_events SET detail = ? WHERE id = ?', JSON.stringify(detail), idBytes(id))
}

/** The members of a detail that name what an event is about, the most telling one first. A client has a column of its own. */
const ABOUT = [
  ...['user_id', 'resource_id', 'api_key_id', 'idp_id', 'broker_provider_id', 'webhook_id', 'stream_id'],
  ...['jti', 'family', 'kid', 'slug'],
]
const aboutOf = (detail: AuditEvent['detail']): string | undefined =>
  ABOUT.map((name) => detail[name]).find((value) => typeof value === 'string' && value !== '') as string | undefined

const INTO = 'audit_events (id, action, actor_id, client_id, ip, request_id, detail, about, created_at)'
const valuesOf = (event: AuditEvent): Param[] => [
  idBytes(event.id),
  event.action,
  event.actor_id,
  orNull(event.client_id),
  event.ip,
  maybeIdBytes(event.request_id),
  JSON.stringify(event.detail),
  orNull(aboutOf(event.detail)),
  event.created_at,
]

/** Adds an event to the audit trail. */
export function* recordAudit(event: AuditEvent): Op<void> {
  yield* change(`INSERT INTO ${INTO} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, ...valuesOf(event))
}

/** Adds events to the audit trail. */
export function* recordAudits(events: readonly AuditEvent[]): Op<void> {
  const [event] = events
  if (event && events.length === 1) return yield* recordAudit(event)
  yield* insertRows(INTO, events.map(valuesOf))
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
  const events = inRange(f, ...fitsEvent(f))
  const others = yield* all(
    `SELECT ${EVENT_COLUMNS} FROM audit_events ${events.sql} ORDER BY id DESC LIMIT ?`,
    ...events.params,
    page,
  )
  if (f.issued === false || f.ip !== undefined || f.about !== undefined) return others.map(readEvent).slice(f.offset)
  const issued = inRange(
    f,
    f.action === undefined ? undefined : (ISSUED_ACTIONS[f.action] ?? ['1 = 0']),
    isAbout(f.actor_id),
    // The id of a request is the id of the token that it issued.
    is('id', f.request_id === undefined ? undefined : idBytes(f.request_id)),
  )
  const tokens = yield* all(
    `SELECT ${ISSUANCE_COLUMNS} FROM issuances ${issued.sql} ORDER BY id DESC LIMIT ?`,
    ...issued.params,
    page,
  )
  const merged = [...others.map(readEvent), ...tokens.map((row) => issuanceEvent(readIssuance(row)))]
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
  const last = yield* one(
    `SELECT id FROM audit_events ${range.sql} ORDER BY id DESC LIMIT 1 OFFSET ?`,
    ...range.params,
    f.rows - 1,
  )
  const next = last && idText(last.id)
  const fits = inRange(
    { ...f, since: next ?? f.since },
    ...fitsEvent(f),
    containing(f.q, 'action', 'actor_id', 'client_id', 'ip', 'detail'),
  )
  const found = yield* all(`SELECT ${EVENT_COLUMNS} FROM audit_events ${fits.sql} ORDER BY id DESC`, ...fits.params)
  return { events: found.map(readEvent), ...(next === undefined ? {} : { next }) }
}
