// Writes the sums and failures of this process to the store: once a minute, in small operations, outside of requests.
import type { App } from '../context.ts'
import { type ActivitySum, busiest, type MinuteSums, NOTHING } from '../telemetry/activity_sums.ts'

/** Names of a kind that have sums of their own in a minute. The rest is summed. */
const MOST_NAMES = 100
/** Of the busiest ids that callers sent, this many are looked up: most may be invented. */
const MOST_IDS = 500
/** Rows of one store operation, so that other operations do not wait for it. */
const ROWS = 50
/** Old rows that are deleted at most after each minute. */
const SWEPT = 1000
/** Minutes that are kept while the store is unavailable. The oldest are dropped. */
const MOST_MINUTES = 60
/** Seconds after the end of a minute: threads hand over their sums once a second. Instances write at different times. */
const [EARLIEST, SPREAD] = [3, 15]
const TICK_MS = 1000

/** Starts the writing. Returns the function that ends it and writes the rest. */
export function startHistory(app: App): () => Promise<void> {
  const history = new History(app)
  const timer = setInterval(() => history.tick(), TICK_MS)
  timer.unref()
  return () => {
    clearInterval(timer)
    return history.write(true)
  }
}

class History {
  private readonly app: App
  private readonly waiting: MinuteSums[] = []
  private readonly delay = EARLIEST + Math.floor(Math.random() * SPREAD)
  private written: number
  private running: Promise<void> = Promise.resolve()

  constructor(app: App) {
    this.app = app
    const now = app.clock.now()
    this.written = Math.floor(now / 60)
    const { version, commit } = app.build
    app.sums.add({ at: now, sums: [{ ...NOTHING, kind: 'start', name: `${version} (${commit})`, requests: 1 }] })
  }

  /** Writes the minute that has ended, when it is time. */
  tick(): void {
    const now = this.app.clock.now()
    const minute = Math.floor((now - this.delay) / 60)
    if (minute <= this.written) return
    this.written = minute
    void this.write()
  }

  /** Writes what has been counted; with `all` also the minute that has not ended. Never rejects. */
  write(all = false): Promise<void> {
    this.running = this.running
      .then(() => this.writeNow(all))
      .catch((error: unknown) => this.app.log.debug({ err: error }, 'activity could not be written yet'))
    return this.running
  }

  private async writeNow(all: boolean): Promise<void> {
    const { sums, clock } = this.app
    for (const { at, sums: counted } of sums.take(clock.now(), all))
      this.waiting.push({ at, sums: reduced(counted, MOST_IDS) })
    this.waiting.splice(0, this.waiting.length - MOST_MINUTES)
    for (let next = this.waiting[0]; next; next = this.waiting[0]) {
      await this.writeMinute(next)
      this.waiting.shift()
    }
    await this.writeFailures()
    await this.sweep()
  }

  /** Deletes rows that are older than they are kept, more than a minute adds. */
  private async sweep(): Promise<void> {
    const { store, clock } = this.app
    const old = { now: clock.now(), limit: SWEPT }
    await store.sweepActivity(old)
    await store.sweepClientFailures(old)
  }

  private async writeMinute(minute: MinuteSums): Promise<void> {
    const { store } = this.app
    const ids = minute.sums.filter(isNamedClient).map(({ name }) => name)
    const known = await this.knownAmong(ids)
    minute.sums = reduced(
      minute.sums.filter((sum) => !isNamedClient(sum) || known.has(sum.name)),
      MOST_NAMES,
    )
    // A chunk is removed before it is written, because an operation without an answer may have been committed.
    while (minute.sums.length > 0) await store.addActivity({ at: minute.at, sums: minute.sums.splice(0, ROWS) })
  }

  private async writeFailures(): Promise<void> {
    const { store, failures } = this.app
    const taken = failures.take()
    let known: Set<string>
    try {
      known = await this.knownAmong([...new Set(taken.map(({ client_id }) => client_id))])
    } catch (error) {
      for (const each of taken) failures.add(each)
      throw error
    }
    const ofClients = taken.filter(({ client_id }) => known.has(client_id))
    while (ofClients.length > 0) await store.addClientFailures({ failures: ofClients.splice(0, ROWS) })
  }

  private async knownAmong(client_ids: string[]): Promise<Set<string>> {
    const known = new Set<string>()
    for (let at = 0; at < client_ids.length; at += ROWS) {
      const some = client_ids.slice(at, at + ROWS)
      for (const id of await this.app.store.listKnownClients({ client_ids: some })) known.add(id)
    }
    return known
  }
}

const isNamedClient = ({ kind, name }: ActivitySum): boolean => kind === 'client' && name !== ''

/** Sums with a bounded number of names. The total comes last: a minute without it counts as not measured. */
function reduced(sums: readonly ActivitySum[], most: number): ActivitySum[] {
  const kinds = [...new Set(sums.map(({ kind }) => kind))].sort((a, b) => Number(a === 'all') - Number(b === 'all'))
  return kinds.flatMap((kind) => {
    const of = sums.filter((each) => each.kind === kind)
    return kind === 'all' || kind === 'latency' ? of : busiest(of, most)
  })
}
