// Issued tokens as events. Their ids are made before the commit, so a smaller id may become visible after a larger one. Therefore they are
// read when they are older than every commit may last, in the order of their ids.
import type { App } from '../context.ts'
import { compareIds, idFloor } from '../lib/id.ts'
import type { EventCursor, EventReceiver } from '../records/event_receiver.ts'
import type { IssuedEvent, WaitingEvents } from '../store/clients/event_feed.ts'
import { actionsOf, isIssued } from './webhook_actions.ts'

/** Seconds between the creation of an id and its delivery: more than a commit lasts, and than the clocks of instances differ. */
const SETTLED = 60

/** The actions of issued tokens that a webhook receives. They must be named in full. */
export const issuedActions = ({ kind, events }: EventReceiver): string[] =>
  kind === 'webhook' ? actionsOf(events).filter(isIssued) : []

const placeOf = ({ settings }: EventReceiver, { issued_id }: EventCursor): string => {
  const start = idFloor(settings.issued_since ?? 0)
  return issued_id !== undefined && compareIds(issued_id, start) > 0 ? issued_id : start
}

/** The next issued tokens that a receiver has not received. */
export async function listIssued(
  { store, clock }: App,
  receiver: EventReceiver,
  cursor: EventCursor,
  limit: number,
): Promise<IssuedEvent[]> {
  const actions = issuedActions(receiver)
  if (actions.length === 0) return []
  const before = idFloor(clock.now() - SETTLED)
  return store.listIssuedFeed({ after: placeOf(receiver, cursor), before, actions, limit })
}

/** The issued tokens that wait for a receiver, those that are too young to be sent included. Counted up to a limit. */
export async function measureIssued(
  { store }: App,
  receiver: EventReceiver,
  cursor: EventCursor,
  limit: number,
): Promise<WaitingEvents> {
  const actions = issuedActions(receiver)
  if (actions.length === 0) return { pending: 0 }
  return store.measureIssuedFeed({ after: placeOf(receiver, cursor), actions, limit })
}

/** The settings of a webhook whose events change. Tokens that were issued before it subscribed to them are not sent. */
export const issuedSince = (before: EventReceiver | undefined, events: readonly string[], now: number) => {
  const isNew = actionsOf(events).some(isIssued) && (before === undefined || issuedActions(before).length === 0)
  return isNew ? { issued_since: now } : {}
}
