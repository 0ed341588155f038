// A bounded read-through cache: one load at a time per key, no stale value after drop(). Absence is remembered in a
// smaller room of its own, so that made-up keys cannot push out real entries.
import { Lru } from './lru.ts'

/** A bounded cache that remembers absent entries too and loads each key once at a time. */
export class Cache<V extends object | string> {
  private readonly entries: Lru<V>
  private readonly absent: Lru<true>
  private readonly loading = new Map<string, Promise<V | undefined>>()
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
    return this.loading.get(key) ?? this.load(key, load)
  }

  /** Forgets a key; a load of it that is under way will not be remembered. */
  drop(key: string): void {
    this.entries.delete(key)
    this.absent.delete(key)
    this.loading.delete(key)
  }

  /** Forgets everything. */
  clear(): void {
    this.entries.clear()
    this.absent.clear()
    this.loading.clear()
  }

  private load(key: string, load: () => Promise<V | undefined>): Promise<V | undefined> {
    const promise = load().then(
      (value) => {
        if (this.loading.get(key) === promise) {
          this.loading.delete(key)
          if (value === undefined) this.absent.set(key, true)
          else this.entries.set(key, value)
        }
        return value
      },
      (error) => {
        if (this.loading.get(key) === promise) this.loading.delete(key)
        throw error
      },
    )
    this.loading.set(key, promise)
    return promise
  }
}
