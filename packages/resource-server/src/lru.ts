// A cache of bounded size that evicts the least recently used entry.

/** Keeps at most `size` entries. */
export class Lru<V> {
  private readonly entries = new Map<string, V>()
  private readonly size: number

  constructor(size: number) {
    this.size = size
  }

  get(key: string): V | undefined {
    const value = this.entries.get(key)
    if (value === undefined) return undefined
    this.entries.delete(key)
    this.entries.set(key, value)
    return value
  }

  set(key: string, value: V): void {
    this.entries.delete(key)
    this.entries.set(key, value)
    if (this.entries.size <= this.size) return
    const [oldest] = this.entries.keys()
    if (oldest !== undefined) this.entries.delete(oldest)
  }

  clear(): void {
    this.entries.clear()
  }
}
