// Operations on the receivers of events: webhooks and streams.
import {
  type EventCursor,
  type EventReceiver,
  MAX_ALL_STREAMS,
  MAX_RECEIVERS,
  MAX_STREAMS,
  SENDER,
} from '../../records/event_receiver.ts'
import {
  all,
  change,
  decoded,
  idBytes,
  idText,
  is,
  maybeIdBytes,
  maybeIdText,
  maybeNum,
  maybeStr,
  num,
  type Op,
  one,
  oneAtATime,
  orNull,
  type Row,
  str,
  where,
} from '../op.ts'

const COLUMNS =
  'id, kind, url, events, status, secret, secret_clear, client_id, settings, version, created_at, updated_at'

const read = (row: Row): EventReceiver => ({
  id: str(row.id),
  kind: str(row.kind) as EventReceiver['kind'],
  url: maybeStr(row.url),
  events: decoded(row.events),
  status: str(row.status) as EventReceiver['status'],
  secret: maybeStr(row.secret),
  secret_clear: maybeStr(row.secret_clear),
  client_id: maybeStr(row.client_id),
  settings: decoded(row.settings),
  version: num(row.version),
  created_at: num(row.created_at),
  updated_at: num(row.updated_at),
})

const mutable = (r: EventReceiver) => [
  orNull(r.url),
  JSON.stringify(r.events),
  r.status,
  orNull(r.secret),
  orNull(r.secret_clear),
  JSON.stringify(r.settings),
  r.updated_at,
]

/** All receivers, oldest first. */
export function* listReceivers({ kind }: { kind?: EventReceiver['kind'] }): Op<EventReceiver[]> {
  const { sql, params } = where(is('kind', kind))
  return (yield* all(`SELECT ${COLUMNS} FROM event_receivers ${sql} ORDER BY created_at, id`, ...params)).map(read)
}

/** The receiver with this id. */
export function* findReceiver({ id }: { id: string }): Op<EventReceiver | undefined> {
  const row = yield* one(`SELECT ${COLUMNS} FROM event_receivers WHERE id = ?`, id)
  return row && read(row)
}

/** Adds a receiver of the events after `start`. `too_many_streams`: of its client. */
export function* createReceiver({
  receiver: r,
  start,
}: {
  receiver: EventReceiver
  start: number
}): Op<'created' | 'too_many' | 'too_many_streams'> {
  yield* oneAtATime('event_receivers')
  const counts = yield* one(
    "SELECT count(*) AS n, count(CASE WHEN kind = 'stream' THEN 1 END) AS streams, count(CASE WHEN client_id = ? THEN 1 END) AS own FROM event_receivers",
    r.client_id ?? '',
  )
  if (num(counts?.own) >= MAX_STREAMS) return 'too_many_streams'
  const isFull = r.kind === 'stream' && num(counts?.streams) >= MAX_ALL_STREAMS
  if (isFull || num(counts?.n) >= MAX_RECEIVERS) return 'too_many'
  yield* change(
    `INSERT INTO event_receivers (url, events, status, secret, secret_clear, settings, updated_at, id, kind, client_id, version, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...mutable(r),
    r.id,
    r.kind,
    orNull(r.client_id),
    r.version,
    r.created_at,
  )
  yield* change(
    `INSERT INTO event_cursors (receiver_id, feed_order, event_id, acknowledged, attempts, retry_at, recent) VALUES (?, ?, ?, ?, ?, ?, ?)`,
    r.id,
    start,
    LAST_ID,
    '[]',
    0,
    0,
    '[]',
  )
  return 'created'
}

/** Sorts after every id. */
const LAST_ID = Buffer.alloc(16, 0xff)

/** Writes a receiver that was read at `version`. Its kind and its client cannot change. */
export function* updateReceiver(r: EventReceiver): Op<'updated' | 'stale'> {
  const changed = yield* change(
    `UPDATE event_receivers SET url = ?, events = ?, status = ?, secret = ?, secret_clear = ?, settings = ?, updated_at = ?, version = version + 1
     WHERE id = ? AND version = ?`,
    ...mutable(r),
    r.id,
    r.version,
  )
  return changed === 1 ? 'updated' : 'stale'
}

/** Deletes a receiver with its cursor. Returns the deleted receiver. */
export function* deleteReceiver({ id }: { id: string }): Op<EventReceiver | undefined> {
  const row = yield* one(`DELETE FROM event_receivers WHERE id = ? RETURNING ${COLUMNS}`, id)
  yield* change('DELETE FROM event_cursors WHERE receiver_id = ?', id)
  return row && read(row)
}

const CURSOR =
  'receiver_id, feed_order, event_id, issued_id, acknowledged, attempts, retry_at, failing_since, last_error, delivered_at, recent'

const readCursor = (row: Row): EventCursor => ({
  receiver_id: str(row.receiver_id),
  feed_order: num(row.feed_order),
  event_id: idText(row.event_id),
  issued_id: maybeIdText(row.issued_id),
  acknowledged: decoded(row.acknowledged),
  attempts: num(row.attempts),
  retry_at: num(row.retry_at),
  failing_since: maybeNum(row.failing_since),
  last_error: maybeStr(row.last_error),
  delivered_at: maybeNum(row.delivered_at),
  recent: decoded(row.recent),
})

/** The position of a receiver in the feed. */
export function* findEventCursor({ receiver_id }: { receiver_id: string }): Op<EventCursor | undefined> {
  const row = yield* one(`SELECT ${CURSOR} FROM event_cursors WHERE receiver_id = ?`, receiver_id)
  return row && readCursor(row)
}

/** The positions of all receivers in the feed. */
export function* listEventCursors(): Op<EventCursor[]> {
  return (yield* all(`SELECT ${CURSOR} FROM event_cursors`)).map(readCursor)
}

/** Stores the position of a receiver. Returns false if `holder` does not hold the lease. */
export function* saveEventCursor({ cursor: c, holder }: { cursor: EventCursor; holder: string }): Op<boolean> {
  const saved = yield* change(
    `UPDATE event_cursors SET feed_order = ?, event_id = ?, issued_id = ?, attempts = ?, retry_at = ?, failing_since = ?, last_error = ?, delivered_at = ?, recent = ?
     WHERE receiver_id = ? AND EXISTS (SELECT 1 FROM leases WHERE name = ? AND holder = ?)`,
    c.feed_order,
    idBytes(c.event_id),
    maybeIdBytes(c.issued_id),
    c.attempts,
    c.retry_at,
    orNull(c.failing_since),
    orNull(c.last_error),
    orNull(c.delivered_at),
    JSON.stringify(c.recent),
    c.receiver_id,
    SENDER,
    holder,
  )
  return saved === 1
}

/** Stores the position and the acknowledged events of a polled stream. Returns false if another poll has changed them since they were read. */
export function* saveAcknowledged({ before, cursor: c }: { before: EventCursor; cursor: EventCursor }): Op<boolean> {
  const saved = yield* change(
    `UPDATE event_cursors SET feed_order = ?, event_id = ?, acknowledged = ?, delivered_at = ?
     WHERE receiver_id = ? AND feed_order = ? AND event_id = ? AND acknowledged = ?`,
    c.feed_order,
    idBytes(c.event_id),
    JSON.stringify(c.acknowledged),
    orNull(c.delivered_at),
    c.receiver_id,
    before.feed_order,
    idBytes(before.event_id),
    JSON.stringify(before.acknowledged),
  )
  return saved === 1
}

/** Acquires or renews a lease. False while another holder has it. */
export function* takeLease(l: { name: string; holder: string; now: number; until: number }): Op<boolean> {
  const taken = yield* change(
    `INSERT INTO leases (name, holder, leased_until) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET
       holder = excluded.holder, leased_until = excluded.leased_until WHERE leases.holder = excluded.holder OR leases.leased_until <= ?`,
    l.name,
    l.holder,
    l.until,
    l.now,
  )
  return taken === 1
}

/** Releases a lease, so that another instance can acquire it at once. */
export function* releaseLease({ name, holder }: { name: string; holder: string }): Op<void> {
  yield* change('DELETE FROM leases WHERE name = ? AND holder = ?', name, holder)
}
