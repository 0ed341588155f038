// A bounded read-through cache: one load at a time per key, and no stale value after drop(). Absent values are cached separately, with a
// smaller capacity, so that invented keys cannot evict real entries.
import { Lru } from './lru.ts'
import { SingleFlight } from './single_flight.ts'

/** A bounded cache that also caches absence and loads each key once at a time. */
export class Cache<V extends object | string> {
  private readonly entries: Lru<V>
  private readonly absent: Lru<true>
  private readonly loads = new SingleFlight<V | undefined>()
  hits = 0
  misses = 0

  constructor(max: number) {
    this.entries = new Lru(max)
    this.absent = new Lru(Math.max(1, Math.floor(max / 8)))
  }

  /** The cached value, or else the loaded value. */
  get(key: string, load: () => Promise<V | undefined>): Promise<V | undefined> | V | undefined {
    const value = this.entries.get(key)
    if (value !== undefined || this.absent.get(key)) {
      this.hits++
      return value
    }
    this.misses++
    return this.load(key, load)
  }

  /** Drops a key. The result of a load in flight is not cached. */
  drop(key: string): void {
    this.entries.delete(key)
    this.absent.delete(key)
    this.loads.forget(key)
  }

  /** Drops every key. */
  clear(): void {
    this.entries.clear()
    this.absent.clear()
    this.loads.clear()
  }

  private load(key: string, load: () => Promise<V | undefined>): Promise<V | undefined> {
    const flight = this.loads.run(key, async () => {
      const value = await load()
      if (this.loads.get(key) === flight) {
        if (value === undefined) this.absent.set(key, true)
        else this.entries.set(key, value)
      }
      return value
    })
    return flight
  }
}
