// A cache of values that are fetched from other servers by URL: key sets, discovery documents.
import { Lru } from '../lib/lru.ts'
import { SingleFlight } from '../lib/threads/single_flight.ts'
import type { Clock } from '../lib/time.ts'
import { FetchError, type FetchReason } from './error.ts'
import { AT_ONCE } from './semaphore.ts'

export interface RemoteCacheOptions<V> {
  /** Fetches a value. Rejects with a FetchError, or with 503 when there are too many concurrent fetches. */
  fetchValue(uri: string): Promise<V>
  clock: Clock
  /** Seconds after which a value is fetched again. While that fails, the old value is used for the same time once more. */
  ttl: number
  /** Maximum number of values, and of their bytes. */
  max: number
  bytes: number
}

interface Entry<V> {
  value?: V
  freshUntil: number
  /** The error of the last fetch, the time of the first failed fetch since a successful one, and the time before which it is not repeated. */
  failure?: { error: FetchError; since: number; until: number }
}

/** Why a value cannot be fetched, and since when, in epoch seconds. */
export interface RemoteFailure {
  reason: FetchReason
  since: number
}

const FAILURE_SECONDS = 10

/** Fetched values by URL. Callers that need the same value at the same time share one fetch. */
export class RemoteCache<V extends object> {
  private readonly options: RemoteCacheOptions<V>
  private readonly entries: Lru<Entry<V>>
  private readonly loads = new SingleFlight<V, Entry<V>>()

  constructor(options: RemoteCacheOptions<V>) {
    this.options = options
    this.entries = new Lru({ max: options.max, bytes: options.bytes })
  }

  /** The cached value, if it is fresh. */
  fresh(uri: string): V | undefined {
    const { value, freshUntil } = this.entryOf(uri)
    return this.options.clock.now() < freshUntil ? value : undefined
  }

  /**
   * The fresh value, or a fetched one. While the fetch fails, the old value for the same time once more. Rejects as fetchValue() does.
   * Only the caller that starts a fetch waits for its `turn`, so that its refusal is not that of others.
   */
  async get(uri: string, turn = AT_ONCE): Promise<V> {
    const fresh = this.fresh(uri)
    if (fresh) return fresh
    const entry = this.entryOf(uri)
    const now = this.options.clock.now()
    const isUsable = now < entry.freshUntil + this.options.ttl
    try {
      if (entry.failure && now < entry.failure.until) throw entry.failure.error
      if (this.isLoading(uri)) return await this.refresh(uri)
      // Another caller may have fetched it while this one waited.
      return await turn(async () => this.fresh(uri) ?? this.refresh(uri))
    } catch (error) {
      // An outage of the other server does not at once cause one here.
      if (entry.value && isUsable) return entry.value
      throw error
    }
  }

  /** Fetches the value now. The old value stays in use when that fails. */
  refresh(uri: string): Promise<V> {
    const entry = this.entryOf(uri)
    return this.loads.run(entry, () => this.load(uri, entry))
  }

  /** The failure of the last fetch. Undefined after a fetch that succeeded. */
  failureOf(uri: string): RemoteFailure | undefined {
    const failure = this.entries.get(uri)?.failure
    return failure && { reason: failure.error.reason, since: failure.since }
  }

  /** Whether the value is being fetched. */
  isLoading(uri: string): boolean {
    return this.loads.get(this.entryOf(uri)) !== undefined
  }

  /** Removes a value, and one that is being fetched. */
  drop(uri: string): void {
    this.entries.delete(uri)
  }

  private entryOf(uri: string): Entry<V> {
    return this.entries.memo(uri, () => ({ freshUntil: 0 }))
  }

  private async load(uri: string, entry: Entry<V>): Promise<V> {
    const { fetchValue, clock, ttl } = this.options
    try {
      const value = await fetchValue(uri)
      entry.value = value
      entry.freshUntil = clock.now() + ttl
      delete entry.failure
      // It has grown, unless it was dropped meanwhile.
      if (this.entries.get(uri) === entry) this.entries.set(uri, entry)
      return value
    } catch (error) {
      // A 503 of this service is not a fault of the peer, and may be over in the next moment.
      if (error instanceof FetchError) {
        const now = clock.now()
        entry.failure = { error, since: entry.failure?.since ?? now, until: now + FAILURE_SECONDS }
      }
      throw error
    }
  }
}
