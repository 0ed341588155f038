// The audit trail in the order in which its events became visible. A reader that continues after the last event that it read misses none.
//
// SQLite has one writer at a time, so a trigger numbers the events. PostgreSQL has several: an event has the number of its transaction, and
// is read when every transaction with a smaller number has ended. So no event can become visible before one that was read.
import type { AuditEvent } from '../records/audit_event.ts'
import type { FeedPlace } from '../records/event_receiver.ts'
import { all, idBytes, num, type Op, one } from './op.ts'
import { readEvent } from './record.ts'

/** An event and its place. */
export interface FeedEvent extends FeedPlace {
  event: AuditEvent
}

const NEXT = '(SELECT COALESCE(max(feed_order), 0) + 1 FROM audit_events)'

/** The first place that cannot be read yet, on PostgreSQL. */
export function* readPostgresFeedEnd(): Op<number> {
  const row = yield* one(`SELECT LEAST(pg_snapshot_xmin(pg_current_snapshot())::text::bigint, ${NEXT}) AS n`)
  return num(row?.n)
}

/** The first place that cannot be read yet, on SQLite. */
export function* readSqliteFeedEnd(): Op<number> {
  return num((yield* one(`SELECT ${NEXT} AS n`))?.n)
}

/** The next events after a place and before an end, in order. */
export function* listFeed(w: {
  after: FeedPlace
  end: number
  limit: number
  /** Only events of these actions; by default all. */
  actions?: readonly string[]
}): Op<FeedEvent[]> {
  const wanted = w.actions ? `AND action IN (${w.actions.map(() => '?').join(', ')})` : ''
  const rows = yield* all(
    `SELECT * FROM audit_events WHERE (feed_order, id) > (?, ?) AND feed_order < ? ${wanted} ORDER BY feed_order, id LIMIT ?`,
    w.after.feed_order,
    idBytes(w.after.event_id),
    w.end,
    ...(w.actions ?? []),
    w.limit,
  )
  return rows.map((row) => {
    const event = readEvent(row)
    return { event, feed_order: num(row.feed_order), event_id: event.id }
  })
}

/** Number of events of some actions after a place, counted up to a limit. */
export function* countFeed(w: {
  after: FeedPlace
  actions: readonly string[]
  since: number
  limit: number
}): Op<number> {
  const marks = w.actions.map(() => '?').join(', ')
  const row = yield* one(
    `SELECT count(*) AS n FROM (SELECT 1 FROM audit_events WHERE (feed_order, id) > (?, ?) AND created_at >= ? AND action IN (${marks}) LIMIT ?) waiting`,
    w.after.feed_order,
    idBytes(w.after.event_id),
    w.since,
    ...w.actions,
    w.limit,
  )
  return num(row?.n)
}

/** An event by its id. */
export function* findAuditEvent({ id }: { id: string }): Op<AuditEvent | undefined> {
  const row = yield* one('SELECT * FROM audit_events WHERE id = ?', idBytes(id))
  return row && readEvent(row)
}
