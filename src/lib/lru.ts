// The bounded LRU cache: the least recently used value is evicted.
import { LRUCache } from 'lru-cache'
import { ownCopy } from './bounded.ts'

/** At most `max` values by key. lru-cache allocates 28 bytes for each of them when it is created; this class creates it with the first value. */
export class Lru<V extends NonNullable<unknown>> {
  private readonly max: number
  private entries: LRUCache<string, V> | undefined

  constructor(max: number) {
    this.max = max
  }

  /** The value of a key, which becomes the most recently used one. */
  get(key: string): V | undefined {
    return this.entries?.get(key)
  }

  /** The value of a key, which is created if it is missing. */
  memo(key: string, make: (key: string) => V): V {
    const known = this.get(key)
    if (known !== undefined) return known
    const value = make(key)
    this.set(key, value)
    return value
  }

  set(key: string, value: V): void {
    this.entries ??= new LRUCache({ max: this.max })
    // A new key is copied, so that the larger text it may be a part of is not retained in memory.
    this.entries.set(this.entries.has(key) ? key : ownCopy(key), value)
  }

  delete(key: string): void {
    this.entries?.delete(key)
  }

  clear(): void {
    this.entries?.clear()
  }

  /** Every value, the most recently used first. */
  *values(): Generator<V> {
    if (this.entries) yield* this.entries.values()
  }
}
