// How many tokens each client with a daily limit got today (UTC), at all instances together. The counts are in memory; in the background
// they are written to the store in batches, and those of other instances are read from there. A process that is killed loses the counts
// that it has not written yet: at most those of the last half second.
import { type Clock, DAY } from '../lib/time.ts'

/** The store operations of the counts. */
export interface TokenCountStore {
  addTokenCounts(input: { day: number; added: ClientTokens[]; now: number }): Promise<unknown>
  readTokenCounts(input: {
    day: number
    after: Place
    limit: number
  }): Promise<{ counts: ClientTokens[]; next?: Place }>
  sweepTokenCounts(input: { before: number; limit: number }): Promise<number>
}
interface ClientTokens {
  client_id: string
  tokens: number
}
interface Place {
  updated_at: number
  client_id: string
}

export interface TokenCountParts {
  store: TokenCountStore
  clock: Clock
  /** The number of instances that share the store. */
  instances: () => number
  /** Called when the store is unavailable. The next synchronisation tries again. */
  onError: (error: unknown) => void
}

/** The interval of synchronisations. A token counts at another instance after at most two of them. */
const SYNC_MS = 500
/** Rows of one store operation, so that other operations do not wait for it. */
const ROWS = 500
/** Seconds before the last read from which rows are read again: the clocks of instances differ, and a row is committed after the time that it contains. */
const REREAD = 15
const START: Place = { updated_at: 0, client_id: '' }

/** The tokens of one client: those in the store, and those that are not written yet. */
interface Count {
  stored: number
  added: number
}

/** The counts of one process. */
export class TokenCounts {
  private readonly parts: TokenCountParts
  private readonly counts = new Map<string, Count>()
  /** The clients with tokens that are not written yet. */
  private readonly unwritten = new Set<string>()
  private day: number
  private after = START
  private isRead = false
  private sweptFor = Number.NaN
  private timer: NodeJS.Timeout | undefined
  private syncing: Promise<void> | undefined

  constructor(parts: TokenCountParts) {
    this.parts = parts
    this.day = this.currentDay()
  }

  /** Reads the counts of today, and keeps them in step with the store from then on. */
  async start(): Promise<void> {
    await this.sync()
    this.timer = setInterval(() => void this.sync(), SYNC_MS)
    this.timer.unref()
  }

  /** Writes the counts that are not written yet. */
  async stop(): Promise<void> {
    clearInterval(this.timer)
    await this.syncing
    if (this.timer) await this.sync()
  }

  /** The tokens that a client got today. */
  of(client_id: string): number {
    this.turn()
    const count = this.counts.get(client_id)
    return count ? count.stored + count.added : 0
  }

  /** Adds tokens to the count of a client. A negative number returns tokens that were not issued after all. */
  add(client_id: string, tokens: number): void {
    this.turn()
    this.entry(client_id).added += tokens
    this.unwritten.add(client_id)
  }

  /** Seconds until the next day. */
  untilTomorrow(): number {
    return Math.max(1, Math.ceil((this.currentDay() + 1) * DAY - this.parts.clock.now()))
  }

  private sync(): Promise<void> {
    this.syncing ??= this.exchange()
      .catch(this.parts.onError)
      .finally(() => {
        this.syncing = undefined
      })
    return this.syncing
  }

  private async exchange(): Promise<void> {
    this.turn()
    const { day } = this
    await this.write(day)
    // One instance alone knows every count once it has read them.
    if (!this.isRead || this.parts.instances() > 1) await this.read(day)
    if (this.sweptFor !== day) await this.sweep(day)
  }

  private async write(day: number): Promise<void> {
    const { store, clock } = this.parts
    for (let rest = [...this.unwritten]; rest.length > 0; rest = rest.slice(ROWS)) {
      const added = rest.slice(0, ROWS).map((client_id) => ({ client_id, tokens: this.entry(client_id).added }))
      await store.addTokenCounts({ day, added, now: clock.now() })
      if (day !== this.day) return
      for (const { client_id, tokens } of added) this.written(client_id, tokens)
    }
  }

  private written(client_id: string, tokens: number): void {
    const count = this.entry(client_id)
    count.stored += tokens
    count.added -= tokens
    if (count.added === 0) this.unwritten.delete(client_id)
  }

  private async read(day: number): Promise<void> {
    const { store, clock } = this.parts
    const startedAt = clock.now()
    for (let after: Place | undefined = this.after; after; ) {
      const { counts, next } = await store.readTokenCounts({ day, after, limit: ROWS })
      if (day !== this.day) return
      for (const { client_id, tokens } of counts) this.entry(client_id).stored = tokens
      after = next
    }
    this.after = { updated_at: startedAt - REREAD, client_id: '' }
    this.isRead = true
  }

  /** Deletes old counts. Those of yesterday stay: it may still be that day at an instance whose clock is slow. */
  private async sweep(day: number): Promise<void> {
    const deleted = await this.parts.store.sweepTokenCounts({ before: day - 1, limit: ROWS })
    if (deleted < ROWS) this.sweptFor = day
  }

  /** Begins a new day with no tokens. */
  private turn(): void {
    const day = this.currentDay()
    if (day === this.day) return
    this.day = day
    this.counts.clear()
    this.unwritten.clear()
    this.after = START
    this.isRead = false
  }

  private entry(client_id: string): Count {
    const known = this.counts.get(client_id)
    if (known) return known
    const count = { stored: 0, added: 0 }
    this.counts.set(client_id, count)
    return count
  }

  private currentDay(): number {
    return Math.floor(this.parts.clock.now() / DAY)
  }
}
