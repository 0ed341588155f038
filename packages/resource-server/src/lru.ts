// A cache of bounded size that evicts the least recently used entry.

/** Keeps at most `size` entries whose keys have at most `characters` together. */
export class Lru<V> {
  private readonly entries = new Map<string, V>()
  private readonly size: number
  private readonly characters: number
  private used = 0

  constructor(size: number, characters: number) {
    this.size = size
    this.characters = characters
  }

  get(key: string): V | undefined {
    const value = this.entries.get(key)
    if (value === undefined) return undefined
    this.entries.delete(key)
    this.entries.set(key, value)
    return value
  }

  set(key: string, value: V): void {
    if (!this.entries.delete(key)) this.used += key.length
    this.entries.set(key, value)
    for (const oldest of this.entries.keys()) {
      if (this.entries.size <= this.size && this.used <= this.characters) break
      this.entries.delete(oldest)
      this.used -= oldest.length
    }
  }

  clear(): void {
    this.entries.clear()
    this.used = 0
  }
}
