// The bounded cache of everything that is remembered: what was not used for longest makes room.
import { LRUCache } from 'lru-cache'
import { ownCopy } from './bounded.ts'

/** At most `max` values by name. lru-cache takes the memory of all of them, 28 bytes each, when it is made; this does with the first value. */
export class Lru<V extends NonNullable<unknown>> {
  private readonly max: number
  private entries: LRUCache<string, V> | undefined

  constructor(max: number) {
    this.max = max
  }

  /** The value of a key, which is the last one used then. */
  get(key: string): V | undefined {
    return this.entries?.get(key)
  }

  /** The value of a key, made when there is none. */
  memo(key: string, make: (key: string) => V): V {
    const known = this.get(key)
    if (known !== undefined) return known
    const value = make(key)
    this.set(key, value)
    return value
  }

  set(key: string, value: V): void {
    this.entries ??= new LRUCache({ max: this.max })
    // A new key is copied: what it was cut from must not stay in memory with it.
    this.entries.set(this.entries.has(key) ? key : ownCopy(key), value)
  }

  delete(key: string): void {
    this.entries?.delete(key)
  }

  clear(): void {
    this.entries?.clear()
  }

  /** Every value, the last one used first. */
  *values(): Generator<V> {
    if (this.entries) yield* this.entries.values()
  }
}
