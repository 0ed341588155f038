// The bounded LRU cache: the least recently used value is evicted.
import { LRUCache } from 'lru-cache'
import { ownCopy } from './bounded.ts'
import { memoryOf } from './memory.ts'

/** What a cache may hold. Both bounds hold: texts of anonymous callers are long or many. */
export interface LruBounds<V> {
  max: number
  /** Maximum bytes of all keys and values together, as memoryOf() estimates them. */
  bytes: number
  /** The bytes of one value. Default: memoryOf(). Needed for values with memory outside of the heap, or with members that others share. */
  sizeOf?: (value: V) => number
}

/** The entry of a key in the tables of lru-cache and in its map. */
const ENTRY_BYTES = 96

/**
 * At most `max` values by key, in at most `bytes`. A value that is larger alone is not kept. lru-cache allocates 36 bytes for each possible value when it
 * is created; this class creates it with the first value. A value that grows must be set again.
 */
export class Lru<V extends NonNullable<unknown>> {
  private readonly bounds: LruBounds<V>
  private entries: LRUCache<string, V> | undefined

  constructor(bounds: LruBounds<V>) {
    this.bounds = bounds
  }

  /** The estimated bytes of all keys and values. */
  get bytes(): number {
    return this.entries?.calculatedSize ?? 0
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
    this.entries ??= this.create()
    // A new key is copied, so that the larger text it may be a part of is not retained in memory.
    // The same object is measured again only after it was removed.
    if (typeof value === 'object' && this.entries.peek(key) === value) this.entries.delete(key)
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

  private create(): LRUCache<string, V> {
    const { max, bytes, sizeOf = memoryOf } = this.bounds
    return new LRUCache({
      max,
      maxSize: bytes,
      sizeCalculation: (value, key) => ENTRY_BYTES + memoryOf(key) + sizeOf(value),
    })
  }
}
