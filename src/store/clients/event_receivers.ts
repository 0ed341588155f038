// Operations on the receivers of events: webhooks and streams.
import {
  type EventCursor,
  type EventReceiver,
  MAX_ALL_STREAMS,
  MAX_RECEIVERS,
  MAX_STREAMS,
  SENDER,
} from '../../records/event_receiver.ts'
import { change, changed, idBytes, is, maybeIdBytes, num, type Op, one, oneAtATime, orNull, where } from '../op.ts'
import { column, plainTable, recordTable } from '../table.ts'

const RECEIVERS = recordTable<EventReceiver>('event_receivers', 'id', {
  id: column.text(),
  kind: column.fixed(column.text()),
  url: column.maybeText(),
  events: column.json(),
  status: column.text(),
  secret: column.maybeText(),
  secret_clear: column.maybeText(),
  client_id: column.fixed(column.maybeText()),
  settings: column.json(),
  version: column.int,
  created_at: column.fixed(column.int),
  updated_at: column.int,
})

/** All receivers, oldest first. */
export function* listReceivers({ kind }: { kind?: EventReceiver['kind'] }): Op<EventReceiver[]> {
  return yield* RECEIVERS.list`${where(is('kind', kind))} ORDER BY created_at, id`
}

/** The receiver with this id. */
export const findReceiver = ({ id }: { id: string }) => RECEIVERS.find`WHERE id = ${id}`

/** Adds a receiver of the events after `start`. `too_many_streams`: of its client. */
export function* createReceiver(w: {
  receiver: EventReceiver
  start: number
}): Op<'created' | 'too_many' | 'too_many_streams'> {
  const { receiver: r, start } = w
  yield* oneAtATime('event_receivers')
  const counts = yield* one`SELECT count(*) AS n, count(CASE WHEN kind = 'stream' THEN 1 END) AS streams,
    count(CASE WHEN client_id = ${r.client_id ?? ''} THEN 1 END) AS own FROM event_receivers`
  if (num(counts?.own) >= MAX_STREAMS) return 'too_many_streams'
  const isFull = r.kind === 'stream' && num(counts?.streams) >= MAX_ALL_STREAMS
  if (isFull || num(counts?.n) >= MAX_RECEIVERS) return 'too_many'
  yield* RECEIVERS.add(r)
  yield* CURSORS.add({
    receiver_id: r.id,
    feed_order: start,
    event_id: LAST_ID,
    acknowledged: [],
    attempts: 0,
    retry_at: 0,
    recent: [],
  })
  return 'created'
}

/** Sorts after every id. */
const LAST_ID = Buffer.alloc(16, 0xff).toString('base64url')

/** Writes a receiver that was read at `version`. Its kind and its client cannot change. */
export const updateReceiver = (receiver: EventReceiver) => RECEIVERS.update(receiver)

/** Deletes a receiver with its cursor. Returns the deleted receiver. */
export function* deleteReceiver({ id }: { id: string }): Op<EventReceiver | undefined> {
  const deleted = yield* RECEIVERS.remove`id = ${id}`
  yield* change`DELETE FROM event_cursors WHERE receiver_id = ${id}`
  return deleted
}

const CURSORS = plainTable<EventCursor>('event_cursors', {
  receiver_id: column.text(),
  feed_order: column.int,
  event_id: column.id,
  issued_id: column.maybeId,
  acknowledged: column.json(),
  attempts: column.int,
  retry_at: column.int,
  failing_since: column.maybeInt,
  last_error: column.maybeText(),
  delivered_at: column.maybeInt,
  recent: column.json(),
})

/** The position of a receiver in the feed. */
export const findEventCursor = ({ receiver_id }: { receiver_id: string }) =>
  CURSORS.find`WHERE receiver_id = ${receiver_id}`

/** The positions of all receivers in the feed. */
export const listEventCursors = () => CURSORS.list``

/** Stores the position of a receiver. Returns false if `holder` does not hold the lease. */
export function* saveEventCursor({ cursor: c, holder }: { cursor: EventCursor; holder: string }): Op<boolean> {
  return yield* changed`UPDATE event_cursors SET feed_order = ${c.feed_order}, event_id = ${idBytes(c.event_id)},
      issued_id = ${maybeIdBytes(c.issued_id)}, attempts = ${c.attempts}, retry_at = ${c.retry_at},
      failing_since = ${orNull(c.failing_since)}, last_error = ${orNull(c.last_error)},
      delivered_at = ${orNull(c.delivered_at)}, recent = ${JSON.stringify(c.recent)}
    WHERE receiver_id = ${c.receiver_id} AND EXISTS (SELECT 1 FROM leases WHERE name = ${SENDER} AND holder = ${holder})`
}

/** Stores the position and the acknowledged events of a polled stream. Returns false if another poll has changed them since they were read. */
export function* saveAcknowledged({ before, cursor: c }: { before: EventCursor; cursor: EventCursor }): Op<boolean> {
  return yield* changed`UPDATE event_cursors SET feed_order = ${c.feed_order}, event_id = ${idBytes(c.event_id)},
      acknowledged = ${JSON.stringify(c.acknowledged)}, delivered_at = ${orNull(c.delivered_at)}
    WHERE receiver_id = ${c.receiver_id} AND feed_order = ${before.feed_order} AND event_id = ${idBytes(before.event_id)}
      AND acknowledged = ${JSON.stringify(before.acknowledged)}`
}

/** Acquires or renews a lease. False while another holder has it. */
export function* takeLease(l: { name: string; holder: string; now: number; until: number }): Op<boolean> {
  return yield* changed`INSERT INTO leases (name, holder, leased_until) VALUES (${l.name}, ${l.holder}, ${l.until})
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, leased_until = excluded.leased_until
    WHERE leases.holder = excluded.holder OR leases.leased_until <= ${l.now}`
}

/** Releases a lease, so that another instance can acquire it at once. */
export function* releaseLease({ name, holder }: { name: string; holder: string }): Op<void> {
  yield* change`DELETE FROM leases WHERE name = ${name} AND holder = ${holder}`
}
