// A bounded read-through cache: one load at a time per key, no stale value after drop(). Absence is remembered in a
// smaller room of its own, so that made-up keys cannot push out real entries.
import { Lru } from './lru.ts'
import { SingleFlight } from './single_flight.ts'

/** A bounded cache that remembers absent entries too and loads each key once at a time. */
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

  /** The cached value, else the loaded one. */
  get(key: string, load: () => Promise<V | undefined>): Promise<V | undefined> | V | undefined {
    const value = this.entries.get(key)
    if (value !== undefined || this.absent.get(key)) {
      this.hits++
      return value
    }
    this.misses++
    return this.load(key, load)
  }

  /** Forgets a key; a load of it that is under way will not be remembered. */
  drop(key: string): void {
    this.entries.delete(key)
    this.absent.delete(key)
    this.loads.forget(key)
  }

  /** Forgets everything. */
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
