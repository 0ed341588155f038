// Polling of a stream (RFC 8936). Every poll returns an event again until it is acknowledged. A poll without returnImmediately waits
// for events without occupying a thread: one query for the end of the audit trail serves all waiting polls.
import { setTimeout as sleep } from 'node:timers/promises'
import type { App } from '../context.ts'
import { OAuthError } from '../lib/error.ts'
import { sharedRead } from '../lib/threads/single_flight.ts'
import type { EventCursor, EventReceiver, FeedPlace } from '../records/event_receiver.ts'
import type { FeedEvent } from '../store/clients/event_feed.ts'
import type { SecurityEvent } from './concerned.ts'
import { feedEnd, passed } from './cursor.ts'
import { isExpired, wants } from './delivery.ts'
import { jtiOf, signSecurityEvent } from './security_event_token.ts'
import { STREAM_ACTIONS, securityEvents } from './security_events.ts'
import { checkNotDisabled, type Delivers, deliversOf } from './stream.ts'

export interface PollInput {
  maxEvents: number
  returnImmediately: boolean
  /** The jti of events that are not sent again: acknowledged, or reported as errors. */
  done: readonly string[]
}
export interface PollAnswer {
  sets: Record<string, string>
  moreAvailable?: boolean
  delivers: Delivers
}

/** Maximum number of audit events that one poll reads. */
const WINDOW = 500
const PAGE = 100
/** Sorts after every event id. */
const LAST_EVENT = '_____________________w'
/** Maximum number of acknowledged events after the first event that is not acknowledged. */
const MAX_ACKNOWLEDGED = 2000
const ATTEMPTS = 3
/** Maximum time that a poll waits. It is shorter than the timeouts of proxies and of this service. */
const WAIT_MS = 20_000
const LOOK_MS = 250
/** Every fourth look compares what the stream delivers, also without a new event. */
const LOOKS_PER_CHECK = 4
/** Maximum number of waiting polls of one stream. */
const MAX_WAITING = 4

interface Waiting {
  item: FeedEvent
  security: SecurityEvent
}

/** Answers a poll; a paused stream has no events until it is enabled. Throws conflict when the stream is disabled, not_found when it is deleted in the meantime. */
export async function poll(app: App, stream: EventReceiver, input: PollInput): Promise<PollAnswer> {
  checkNotDisabled(stream)
  // Before the events are read, so that no change after it is hidden.
  const delivers = await deliversOf(app, stream)
  const found = await read(app, stream, input)
  if (input.returnImmediately || hasEvents(found)) return answerOf(app, stream, found, delivers, input)
  const waited = inRoom(app, stream.id, () => waitFor(app, stream.id, input, { end: found.end, delivers }))
  return (await waited) ?? { sets: {}, delivers }
}

const hasEvents = ({ waiting, hasMore }: Found): boolean => waiting.length > 0 || hasMore

/** Waits for an event, or for a change of what the stream delivers. Undefined when neither happens within WAIT_MS. */
async function waitFor(
  app: App,
  id: string,
  input: PollInput,
  from: { end: number; delivers: Delivers },
): Promise<PollAnswer | undefined> {
  const untilMs = performance.now() + WAIT_MS
  let { end } = from
  for (let look = 1; performance.now() < untilMs && !app.lifecycle.draining; look++) {
    await sleep(LOOK_MS, undefined, { ref: false })
    const hasNewEvents = (await roomOf(app).end()) !== end
    // Not with an event only: the change may have come while the poll began, or reach the caches of this instance after its event.
    if (!hasNewEvents && look % LOOKS_PER_CHECK !== 0) continue
    const stream = (await app.store.listReceivers({ kind: 'stream' })).find((each) => each.id === id)
    if (!stream) throw new OAuthError('not_found', 'there is no such stream', { reason: 'unknown_stream' })
    checkNotDisabled(stream)
    const delivers = await deliversOf(app, stream)
    const hasChanged = delivers.version !== from.delivers.version
    if (!hasNewEvents && !hasChanged) continue
    const found = await read(app, stream, { ...input, done: [] })
    if (hasEvents(found) || hasChanged) return answerOf(app, stream, found, delivers, input)
    end = found.end
  }
  return undefined
}

async function answerOf(
  app: App,
  stream: EventReceiver,
  { waiting, hasMore }: Found,
  delivers: Delivers,
  { maxEvents }: PollInput,
): Promise<PollAnswer> {
  const sent = waiting.slice(0, maxEvents)
  const sets = await Promise.all(
    sent.map(async ({ item, security }) => [
      jtiOf(item.event, security),
      await signSecurityEvent(app, stream, item.event, security),
    ]),
  )
  return {
    sets: Object.fromEntries(sets),
    ...(hasMore || waiting.length > sent.length ? { moreAvailable: true } : {}),
    delivers,
  }
}

/** The result of a read: the events that are not acknowledged, whether the trail has events that were not read, and its end. */
interface Found {
  waiting: readonly Waiting[]
  hasMore: boolean
  end: number
}

/** Reads the events after the cursor, and moves it past the acknowledged ones. */
async function read(app: App, stream: EventReceiver, input: PollInput): Promise<Found> {
  for (let left = ATTEMPTS; ; left--) {
    const [end, cursor] = [await feedEnd(app.store), await app.store.findEventCursor({ receiver_id: stream.id })]
    // What a poll of a paused stream acknowledges is not recorded: these events are returned again afterwards.
    if (!cursor || stream.status === 'paused') return { end, waiting: [], hasMore: false }
    const walked = await walk(app, stream, cursor, end, input)
    const saved = !walked.moved || (await app.store.saveAcknowledged({ before: cursor, cursor: walked.cursor }))
    // Another poll of the stream may have moved the cursor first. If no attempt succeeds, a later poll returns the events again.
    if (saved || left === 1) return { end, waiting: walked.waiting, hasMore: walked.hasMore }
  }
}

async function walk(app: App, stream: EventReceiver, from: EventCursor, end: number, { maxEvents, done }: PollInput) {
  const acknowledged = new Set([...from.acknowledged, ...done])
  const waiting: Waiting[] = []
  const kept: string[] = []
  let cursor = from
  let place: FeedPlace = from
  let hasMore = true
  for (let seen = 0; seen < WINDOW && waiting.length <= maxEvents; seen += PAGE) {
    const page = await app.store.listFeed({ after: place, end, limit: PAGE, actions: STREAM_ACTIONS })
    for (const item of page) {
      const { event: _, ...itemPlace } = item
      place = itemPlace
      const found = await waitingOf(app, stream, item)
      const open = found.filter((each) => !acknowledged.has(jtiOf(item.event, each.security)))
      waiting.push(...open)
      if (waiting.length === 0) cursor = passed(cursor, itemPlace)
      else kept.push(...found.map(({ security }) => jtiOf(item.event, security)).filter((jti) => acknowledged.has(jti)))
    }
    if (page.length < PAGE) {
      hasMore = false
      // No event waits before the end, so the next poll begins there.
      if (waiting.length === 0) cursor = passed(cursor, { feed_order: end - 1, event_id: LAST_EVENT })
      break
    }
  }
  const next = { ...cursor, acknowledged: kept.slice(0, MAX_ACKNOWLEDGED), delivered_at: app.clock.now() }
  const moved =
    cursor.feed_order !== from.feed_order ||
    cursor.event_id !== from.event_id ||
    next.acknowledged.length !== from.acknowledged.length
  return { cursor: next, moved, waiting, hasMore }
}

async function waitingOf(app: App, stream: EventReceiver, item: FeedEvent): Promise<Waiting[]> {
  if (!wants(stream, item.event) || isExpired(app, item.event)) return []
  return (await securityEvents(app, stream, item.event)).map((security) => ({ item, security }))
}

/** The state that all waiting polls of an app share. */
interface Room {
  /** The end of the trail, read at most once per LOOK_MS / 2 for all polls. */
  end: () => Promise<number>
  /** Number of waiting polls, by stream. */
  waiting: Map<string, number>
}
const rooms = new WeakMap<App['store'], Room>()
function roomOf({ store }: App): Room {
  const known = rooms.get(store) ?? { end: sharedRead(LOOK_MS / 2, () => feedEnd(store)), waiting: new Map() }
  rooms.set(store, known)
  return known
}

/** Runs a waiting poll. Undefined at once when MAX_WAITING polls of the stream wait already. */
async function inRoom<T>(app: App, id: string, wait: () => Promise<T>): Promise<T | undefined> {
  const { waiting } = roomOf(app)
  const before = waiting.get(id) ?? 0
  if (before >= MAX_WAITING) return undefined
  waiting.set(id, before + 1)
  try {
    return await wait()
  } finally {
    const left = (waiting.get(id) ?? 1) - 1
    if (left > 0) waiting.set(id, left)
    else waiting.delete(id)
  }
}
