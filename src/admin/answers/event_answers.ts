// What the answers about webhooks and streams have in common: the last attempts, the waiting events, and one event that is sent again.
import type { App } from '../../context.ts'
import { attemptDelivery, wants } from '../../events/delivery.ts'
import { lagOf } from '../../events/lag.ts'
import { isId } from '../../lib/id.ts'
import { dated } from '../../lib/time.ts'
import type { EventCursor, EventReceiver } from '../../records/event_receiver.ts'
import { conflict, existing, invalid, notFound } from '../outcome.ts'

/** The receivers of a kind with their positions, oldest first. A receiver that is deleted while the list is made is left out. */
export async function listWithCursors(
  { store }: App,
  kind: EventReceiver['kind'],
): Promise<{ receiver: EventReceiver; cursor: EventCursor }[]> {
  const receivers = await store.listReceivers({ kind })
  const cursors = new Map((await store.listEventCursors()).map((cursor) => [cursor.receiver_id, cursor]))
  return receivers.flatMap((receiver) => {
    const cursor = cursors.get(receiver.id)
    return cursor ? [{ receiver, cursor }] : []
  })
}

/** The receiver of a kind with this id. Throws not_found. */
export async function getReceiver({ store }: App, kind: EventReceiver['kind'], id: string): Promise<EventReceiver> {
  const receiver = await store.findReceiver({ id })
  if (receiver?.kind !== kind) throw notFound(kind)
  return receiver
}

/** The position of a receiver. Throws not_found when it was deleted meanwhile. */
export const cursorOfReceiver = ({ store }: App, { kind, id }: EventReceiver): Promise<EventCursor> =>
  existing(kind, store.findEventCursor({ receiver_id: id }))

/** The waiting events of a receiver. */
export async function lagJson(app: App, receiver: EventReceiver, cursor: EventCursor) {
  const { pending, oldest_at } = await lagOf(app, receiver, cursor)
  return dated({ pending, oldest_pending_at: oldest_at })
}

/** Sends an event once more. Returns the attempt. Throws not_found for an event that the receiver does not get, and conflict if the receiver is paused. */
export async function redeliver(app: App, receiver: EventReceiver, event_id: string) {
  const event = isId(event_id) ? await app.store.findAuditEvent({ id: event_id }) : undefined
  // It shows its receiver that every earlier event has arrived, so it must not overtake one.
  if (receiver.kind === 'stream' && event?.action === 'stream_verification_requested')
    throw invalid('a verification event is not sent again; request another one', 'verification_event')
  if (receiver.status !== 'enabled') throw conflict(`it is ${receiver.status}`, 'wrong_state')
  const made = event && wants(receiver, event) && (await attemptDelivery(app, receiver, event))
  if (!made) throw notFound('event')
  return dated(made)
}
