// Sends events to their receivers, in order, and repeats each event until it is accepted. For each receiver it reads the audit trail from a
// cursor, so that no request waits for a receiver and no event is stored twice. It also notifies applications of logouts. Only the instance that holds the lease sends.
import type { App } from '../context.ts'
import { newId } from '../lib/id.ts'
import { withTimeout } from '../lib/timeout.ts'
import { recordExpired } from '../oauth/sign_in/approval.ts'
import { type EventCursor, type EventReceiver, SENDER } from '../records/event_receiver.ts'
import type { FeedEvent, IssuedEvent } from '../store/clients/event_feed.ts'
import { afterAttempt, feedEnd, passed } from './cursor.ts'
import { attemptDelivery, isExpired, wants } from './delivery.ts'
import { issuedActions, listIssued } from './issued_events.ts'
import { recordUnfinished } from './key_revocation.ts'
import { LogoutSender } from './logouts.ts'

const TICK_MS = 200
/** Interval after an error of the database, and while another instance sends. */
const SLOW_TICK_MS = 1000
/** Duration of a lease in seconds. It is renewed when half of it is left. */
const LEASE = 6
/** Number of events that are read at once for one receiver. */
const PAGE = 100
/** Milliseconds between two writes of the position while events are accepted. A sender that is killed sends the events of this time again. */
const SAVE_MS = 200
const CLOSE_MS = 1000

/** Starts sending. Returns a function that stops it. Requests in flight have one second to finish. */
export function startSender(app: App): () => Promise<void> {
  const sender = new EventSender(app)
  sender.start()
  return () => sender.close()
}

class EventSender {
  private readonly app: App
  private readonly holder = newId()
  private readonly logouts: LogoutSender
  private readonly running = new Map<string, Promise<void>>()
  private readonly cursors = new Map<string, EventCursor>()
  /** The end of the feed up to which each receiver has received every event. */
  private readonly done = new Map<string, number>()
  private leasedUntil = 0
  private isFailing = false
  private expiredAt = 0
  private closed = false
  private timer: NodeJS.Timeout | undefined
  private tick: Promise<void> = Promise.resolve()

  constructor(app: App) {
    this.app = app
    this.logouts = new LogoutSender(app)
  }

  start(delayMs = TICK_MS): void {
    if (this.closed) return
    this.timer = setTimeout(() => {
      this.tick = this.round().then((nextMs) => this.start(nextMs))
    }, delayMs)
    this.timer.unref()
  }

  async close(): Promise<void> {
    this.closed = true
    clearTimeout(this.timer)
    await withTimeout(CLOSE_MS, Promise.all([this.tick, ...this.running.values(), this.logouts.settled()]))
    await this.release().catch(() => {})
  }

  /** Starts sending to every receiver that may have unsent events. Returns the milliseconds until the next round. */
  private async round(): Promise<number> {
    const { store, log } = this.app
    try {
      await recordUnfinished(this.app)
      await this.expireApprovals()
      const receivers = (await store.listReceivers({})).filter(isSentTo)
      const logouts = await this.logouts.due()
      if (receivers.length === 0 && logouts.length === 0 && this.logouts.isIdle) await this.release()
      else if (!(await this.holdsLease())) return SLOW_TICK_MS
      else {
        this.logouts.start(logouts)
        if (receivers.length > 0) await this.startWork(receivers)
      }
      this.isFailing = false
      return TICK_MS
    } catch (error) {
      if (!this.isFailing) log.warn({ err: error }, 'events cannot be sent at the moment; they are sent later')
      this.isFailing = true
      return SLOW_TICK_MS
    }
  }

  /** Once a second, at every instance: what is recorded is recorded once. */
  private async expireApprovals(): Promise<void> {
    const now = this.app.clock.now()
    if (!this.app.config.ciba.enabled || now === this.expiredAt) return
    this.expiredAt = now
    await recordExpired(this.app)
  }

  private async startWork(receivers: readonly EventReceiver[]): Promise<void> {
    const end = await feedEnd(this.app.store)
    for (const receiver of receivers) {
      const { id } = receiver
      if (this.running.has(id)) continue
      if (this.done.get(id) === end && issuedActions(receiver).length === 0) continue
      const work = this.work(receiver, end).finally(() => this.running.delete(id))
      this.running.set(id, work)
    }
  }

  private async holdsLease(): Promise<boolean> {
    const { store, clock } = this.app
    const now = clock.now()
    if (this.leasedUntil - now > LEASE / 2) return true
    // On SQLite the file lock proves that no other server runs, so a lease that is still held can be replaced.
    const due = store.driver.name === 'sqlite' ? Number.MAX_SAFE_INTEGER : now
    const until = now + LEASE
    if (await store.takeLease({ name: SENDER, holder: this.holder, now: due, until })) {
      this.leasedUntil = until
      return true
    }
    this.forget()
    return false
  }

  private async release(): Promise<void> {
    if (this.leasedUntil === 0) return
    this.forget()
    await this.app.store.releaseLease({ name: SENDER, holder: this.holder })
  }

  /** Clears the cached positions. They may be outdated, because another instance may send now. */
  private forget(): void {
    this.leasedUntil = 0
    this.cursors.clear()
    this.done.clear()
  }

  private async work(receiver: EventReceiver, end: number): Promise<void> {
    const { store, clock, log } = this.app
    const { id } = receiver
    try {
      const cursor = this.cursors.get(id) ?? (await store.findEventCursor({ receiver_id: id }))
      if (!cursor || cursor.retry_at > clock.now()) return
      const listFeed = (after: EventCursor) => store.listFeed({ after, end, limit: PAGE })
      const listIssuances = (after: EventCursor) => listIssued(this.app, receiver, after, PAGE)
      const sent = await this.sendAll(cursor, listFeed)
      if (sent && (await this.sendAll(sent, listIssuances))) this.done.set(id, end)
    } catch (error) {
      this.cursors.delete(id)
      if (!this.closed) log.warn({ err: error, receiver_id: id }, 'events could not be read for a receiver')
    }
  }

  /** Sends every event of a list that is read by pages. Returns the cursor behind them, or undefined if the receiver has not received all of them. */
  private async sendAll(
    from: EventCursor,
    list: (after: EventCursor) => Promise<(FeedEvent | IssuedEvent)[]>,
  ): Promise<EventCursor | undefined> {
    let [cursor, saved, savedMs] = [from, from, performance.now()]
    let isHolder = true
    for (;;) {
      const page = await list(cursor)
      // Read after the events, past the cache: an instance learns up to a second late what another one changed, and an event that was passed is never sent.
      const changed = page.length > 0 ? await this.app.store.findReceiver({ id: cursor.receiver_id }) : undefined
      for (const item of page) {
        const attempt = this.pass(cursor, item, changed)
        // A receiver that hangs does not delay the position of the events that it has accepted.
        await withTimeout(SAVE_MS, attempt)
        if (cursor !== saved && performance.now() - savedMs >= SAVE_MS) {
          isHolder = await this.save(cursor)
          ;[saved, savedMs] = [cursor, performance.now()]
        }
        const next = await attempt
        cursor = next ?? cursor
        if (isHolder && next?.attempts === 0) continue
        if (isHolder) await this.save(cursor)
        return undefined
      }
      if (page.length > 0 && !(await this.save(cursor))) return undefined
      if (page.length < PAGE) return cursor
    }
  }

  /** Sends one event. Returns the cursor after the event, or before it when it was not accepted. Undefined when nothing may be sent now. */
  private async pass(
    cursor: EventCursor,
    { event, ...place }: FeedEvent | IssuedEvent,
    changed: EventReceiver | undefined,
  ): Promise<EventCursor | undefined> {
    const { store, clock, metrics } = this.app
    const receivers = await store.listReceivers({})
    const known = receivers.find(({ id }) => id === cursor.receiver_id)
    const receiver = known && changed && changed.version > known.version ? changed : known
    if (this.closed || !receiver || !isSentTo(receiver)) return undefined
    if (!wants(receiver, event)) return passed(cursor, place)
    const { kind } = receiver
    if (isExpired(this.app, event)) {
      metrics.count('ext_event_deliveries_total', { kind, result: 'expired' })
      return passed(cursor, place)
    }
    const made = await attemptDelivery(this.app, receiver, event)
    if (!made) return passed(cursor, place)
    metrics.count('ext_event_deliveries_total', { kind, result: made.error ? 'failed' : 'delivered' })
    return afterAttempt(cursor, place, made, clock.now())
  }

  private async save(cursor: EventCursor): Promise<boolean> {
    const saved = await this.app.store.saveEventCursor({ cursor, holder: this.holder })
    if (saved) this.cursors.set(cursor.receiver_id, cursor)
    else this.forget()
    return saved
  }
}

/** Whether events are sent to a receiver now. A polled stream and a paused receiver are sent none. */
const isSentTo = ({ url, status }: EventReceiver): boolean => url !== undefined && status === 'enabled'
