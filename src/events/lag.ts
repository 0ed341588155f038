// How far a receiver is behind: the number of events that wait for it, and the time of the oldest one.
import type { App } from '../context.ts'
import type { EventCursor, EventReceiver } from '../records/event_receiver.ts'
import type { WaitingEvents } from '../store/clients/event_feed.ts'
import { wantedActions } from './delivery.ts'
import { measureIssued } from './issued_events.ts'

/** Maximum number of waiting events that are counted. */
const MAX_PENDING = 10_000

/** The events that wait for a receiver. For a stream: the events of the audit trail that may concern it. */
export async function lagOf(app: App, receiver: EventReceiver, cursor: EventCursor): Promise<WaitingEvents> {
  const { store, clock, config } = app
  const since = Math.max(receiver.created_at, clock.now() - config.events.retention)
  const wanted = { after: cursor, actions: wantedActions(receiver), since, limit: MAX_PENDING }
  const found = await Promise.all([store.measureFeed(wanted), measureIssued(app, receiver, cursor, MAX_PENDING)])
  const times = found.flatMap(({ oldest_at }) => oldest_at ?? [])
  return {
    pending: Math.min(
      MAX_PENDING,
      found.reduce((sum, { pending }) => sum + pending, 0),
    ),
    ...(times.length > 0 ? { oldest_at: Math.min(...times) } : {}),
  }
}

/** How events reach a receiver, as the label of metrics. */
const wayOf = ({ kind, url }: EventReceiver): 'webhook' | 'push' | 'poll' =>
  kind === 'webhook' ? kind : url === undefined ? 'poll' : 'push'

/** The waiting events of all receivers that are not paused, grouped by delivery: their number, and the longest lag in seconds. */
export async function lagByWay(
  app: App,
): Promise<{ pending: Record<string, number>; seconds: Record<string, number> }> {
  const [receivers, cursors] = await Promise.all([app.store.listReceivers({}), app.store.listEventCursors()])
  const lag = { pending: { webhook: 0, push: 0, poll: 0 }, seconds: { webhook: 0, push: 0, poll: 0 } }
  for (const receiver of receivers) {
    const cursor = cursors.find(({ receiver_id }) => receiver_id === receiver.id)
    if (!cursor || receiver.status !== 'enabled') continue
    const { pending, oldest_at } = await lagOf(app, receiver, cursor)
    const way = wayOf(receiver)
    lag.pending[way] += pending
    if (oldest_at !== undefined) lag.seconds[way] = Math.max(lag.seconds[way], app.clock.now() - oldest_at)
  }
  return lag
}
