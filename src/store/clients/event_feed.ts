// The audit trail in the order in which its events became visible. A reader that continues after the last event that it read misses none.
//
// SQLite has one writer at a time, so a trigger numbers the events. PostgreSQL has several: an event has the number of its transaction, and
// is read when every transaction with a smaller number has ended. So no event can become visible before one that was read.
import type { AuditEvent } from '../../records/audit_event.ts'
import type { FeedPlace, IssuedPlace } from '../../records/event_receiver.ts'
import { all, idBytes, listed, maybeNum, num, type Op, one, part, type Row, raw, selectNumber } from '../op.ts'
import { EVENTS, ISSUANCES, ISSUED_ACTIONS, issuanceEvent } from '../record.ts'

/** An event and its place. */
export interface FeedEvent extends FeedPlace {
  event: AuditEvent
}

const NEXT = '(SELECT COALESCE(max(feed_order), 0) + 1 FROM audit_events)'

/** The first place that cannot be read yet, on PostgreSQL. */
export const readPostgresFeedEnd = () =>
  selectNumber`SELECT LEAST(pg_snapshot_xmin(pg_current_snapshot())::text::bigint, ${raw(NEXT)}) AS n`

/** The first place that cannot be read yet, on SQLite. */
export const readSqliteFeedEnd = () => selectNumber`SELECT ${raw(NEXT)} AS n`

/** The next events after a place and before an end, in order. */
export function* listFeed(w: {
  after: FeedPlace
  end: number
  limit: number
  /** Only events of these actions; by default all. */
  actions?: readonly string[]
}): Op<FeedEvent[]> {
  const wanted = w.actions ? part`AND action IN ${listed(w.actions)}` : raw('')
  const rows = yield* all`SELECT feed_order, ${raw(EVENTS.columns)} FROM audit_events
    WHERE (feed_order, id) > (${w.after.feed_order}, ${idBytes(w.after.event_id)}) AND feed_order < ${w.end} ${wanted}
    ORDER BY feed_order, id LIMIT ${w.limit}`
  return rows.map((row) => {
    const event = EVENTS.read(row)
    return { event, feed_order: num(row.feed_order), event_id: event.id }
  })
}

/** Events that wait for a receiver. */
export interface WaitingEvents {
  /** Their number, counted up to a limit. */
  pending: number
  /** The time of the oldest one. */
  oldest_at?: number
}

const waitingOf = (row: Row | undefined): WaitingEvents => {
  const oldest_at = maybeNum(row?.oldest_at ?? null)
  return { pending: num(row?.n), ...(oldest_at === undefined ? {} : { oldest_at }) }
}

/** The events of some actions after a place, counted up to a limit. */
export function* measureFeed(w: {
  after: FeedPlace
  actions: readonly string[]
  since: number
  limit: number
}): Op<WaitingEvents> {
  const { feed_order, event_id } = w.after
  const row = yield* one`SELECT count(*) AS n, min(created_at) AS oldest_at FROM (SELECT created_at FROM audit_events
    WHERE (feed_order, id) > (${feed_order}, ${idBytes(event_id)}) AND created_at >= ${w.since}
      AND action IN ${listed(w.actions)} ORDER BY feed_order, id LIMIT ${w.limit}) waiting`
  return waitingOf(row)
}

/** An event that is an issued token, and its place. */
export interface IssuedEvent extends IssuedPlace {
  event: AuditEvent
}

const isIssuedBy = (actions: readonly string[]) =>
  raw(`(${actions.map((action) => ISSUED_ACTIONS[action]?.[0] ?? '1 = 0').join(' OR ')})`)

/** The next issued tokens after an id and before an id, as events of some actions, in the order of ids. */
export function* listIssuedFeed(w: {
  after: string
  before: string
  actions: readonly string[]
  limit: number
}): Op<IssuedEvent[]> {
  const issued = yield* ISSUANCES.list`WHERE id > ${idBytes(w.after)} AND id < ${idBytes(w.before)}
    AND ${isIssuedBy(w.actions)} ORDER BY id LIMIT ${w.limit}`
  return issued.map((each) => ({ event: issuanceEvent(each), issued_id: each.id }))
}

/** The issued tokens after an id, counted up to a limit. */
export function* measureIssuedFeed(w: { after: string; actions: readonly string[]; limit: number }): Op<WaitingEvents> {
  const row = yield* one`SELECT count(*) AS n, min(issued_at) AS oldest_at FROM (SELECT issued_at FROM issuances
    WHERE id > ${idBytes(w.after)} AND ${isIssuedBy(w.actions)} ORDER BY id LIMIT ${w.limit}) waiting`
  return waitingOf(row)
}

/** An event by its id. */
export function* findAuditEvent({ id }: { id: string }): Op<AuditEvent | undefined> {
  const event = yield* EVENTS.find`WHERE id = ${idBytes(id)}`
  if (event) return event
  const issued = yield* ISSUANCES.find`WHERE id = ${idBytes(id)}`
  return issued && issuanceEvent(issued)
}
