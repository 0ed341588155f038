// A bounded read-through cache: one load at a time per key, and no stale value after drop(). Absent values are cached separately, with a
// smaller capacity, so that invented keys cannot evict real entries.
import { Lru, type LruBounds } from './lru.ts'
import { SingleFlight } from './threads/single_flight.ts'

/** The share of absent values in the capacity is one in eight, that of values apart a quarter of the bytes. */
const [ABSENT, APART] = [8, 4]

export interface CacheBounds<V> extends Pick<LruBounds<V>, 'max' | 'bytes'> {
  /** Values that callers without trust can make in any number. They have room of their own, and do not evict others. */
  apart?(value: V): boolean
}

/** A bounded cache that also caches absence and loads each key once at a time. */
export class Cache<V extends object | string> {
  private readonly entries: Lru<V>
  private readonly others: Lru<V>
  private readonly absent: Lru<true>
  private readonly isApart: CacheBounds<V>['apart']
  private readonly loads = new SingleFlight<V | undefined>()
  hits = 0
  misses = 0
  /** Changes whenever something is dropped: what was derived from values of another version may be stale. */
  version = 0

  constructor({ max, bytes, apart }: CacheBounds<V>) {
    this.entries = new Lru({ max, bytes })
    this.isApart = apart
    this.others = new Lru({ max, bytes: Math.floor(bytes / APART) })
    this.absent = new Lru({ max: Math.max(1, Math.floor(max / ABSENT)), bytes: Math.floor(bytes / ABSENT) })
  }

  /** The estimated bytes of all keys and values. */
  get bytes(): number {
    return this.entries.bytes + this.others.bytes + this.absent.bytes
  }

  /** The cached value; undefined also when the absence of a value is cached. */
  peek(key: string): V | undefined {
    const value = this.entries.get(key) ?? this.others.get(key)
    if (value !== undefined) this.hits++
    return value
  }

  /** The cached value, or else the loaded value. */
  get(key: string, load: () => Promise<V | undefined>): Promise<V | undefined> | V | undefined {
    const value = this.entries.get(key) ?? this.others.get(key)
    if (value !== undefined || this.absent.get(key)) {
      this.hits++
      return value
    }
    this.misses++
    return this.load(key, load)
  }

  /** Drops a key. The result of a load in flight is not cached. */
  drop(key: string): void {
    this.version++
    this.entries.delete(key)
    this.others.delete(key)
    this.absent.delete(key)
    this.loads.forget(key)
  }

  /** Drops every key. */
  clear(): void {
    this.version++
    this.entries.clear()
    this.others.clear()
    this.absent.clear()
    this.loads.clear()
  }

  private load(key: string, load: () => Promise<V | undefined>): Promise<V | undefined> {
    const flight = this.loads.run(key, async () => {
      const value = await load()
      if (this.loads.get(key) === flight) {
        if (value === undefined) this.absent.set(key, true)
        else (this.isApart?.(value) ? this.others : this.entries).set(key, value)
      }
      return value
    })
    return flight
  }
}

/** Several caches by name, as far as their users need them. */
export type Caches<Member extends keyof Cache<never>> = Readonly<Record<string, Pick<Cache<object | string>, Member>>>
