// The replay set: an exact, bounded set of single-use values in memory. It is an open addressing table of numbers, because a value can be
// remembered for an hour: 24 to 64 bytes for each, where a Set of texts takes 160, and nothing for the garbage collector to trace.
import { randomBytes } from 'node:crypto'
import { overloaded } from './error.ts'

/** The replay cache: the set itself, or a proxy for the thread that has it. */
export interface ReplayCache {
  /** Adds a value until `expires_at`. False when the set contains it. Throws 503 when the set is full. */
  add(value: string, expires_at: number, now: number): boolean | Promise<boolean>
  /** Removes a value whose use failed. */
  remove(value: string): unknown
}

/** A slot has the expiry (0 in a slot that was never used), the letter and the digest of a value. */
const SLOT_WORDS = 6
const MIN_SLOTS = 1024
/** The expiry of a slot whose value was removed. The slot is still a link to the slots after it. */
const REMOVED = 1

/** A set whose members are removed when they expire. Each member has its own expiry. A value is a letter and a digest: 16 bytes in base64url. */
export class ReplaySet {
  private readonly max: number
  private slots = new Uint32Array(MIN_SLOTS * SLOT_WORDS)
  /** Slots that are or were used. */
  private used = 0
  private live = 0
  /** The number of members by the second in which they expire. */
  private expiring = new Map<number, number>()
  private sweptAt = 0
  /** The words of the value in question. */
  private readonly words = new Uint32Array(SLOT_WORDS)
  private readonly digest = Buffer.from(this.words.buffer, 8)
  /** Unknown to senders, so that they cannot choose values whose slots collide. */
  private readonly seed = randomBytes(4).readUInt32LE() | 1

  constructor(max: number) {
    this.max = max
  }

  get size(): number {
    return this.live
  }

  /** Adds a value until `expires_at`. False when the set contains it. Times are whole epoch seconds. Throws 503 when the set is full. */
  add(value: string, expires_at: number, now: number): boolean {
    if (now !== this.sweptAt) this.sweep(now)
    this.readWords(value)
    const found = this.find(now)
    if (found.isMember) return false
    if (expires_at <= now) return true
    if (this.live >= this.max) throw overloaded('used_set')
    this.words[0] = expires_at
    this.put(found.slot)
    if (this.used * 4 > this.capacity * 3) this.rebuild(now)
    return true
  }

  /** Removes a value whose use failed. */
  remove(value: string): void {
    this.readWords(value)
    const { slot, isMember } = this.find(REMOVED)
    if (!isMember) return
    this.count(this.slots[slot] as number, -1)
    this.slots[slot] = REMOVED
  }

  private get capacity(): number {
    return this.slots.length / SLOT_WORDS
  }

  private readWords(value: string): void {
    this.words[1] = value.charCodeAt(0)
    this.digest.write(value.slice(1), 'base64url')
  }

  /** The slot of the value in question, or where it belongs. Slots that have expired are used again. */
  private find(now: number): { slot: number; isMember: boolean } {
    const { slots, words, capacity } = this
    let free: number | undefined
    // The high bits of the product depend on all bits of the digest word and on the seed.
    let index = Math.imul(words[2] as number, this.seed) >>> Math.clz32(capacity - 1)
    for (;;) {
      const slot = index * SLOT_WORDS
      const expires_at = slots[slot] as number
      if (expires_at === 0) return { slot: free ?? slot, isMember: false }
      if (expires_at <= now) free ??= slot
      else if (this.isSame(slot)) return { slot, isMember: true }
      index = (index + 1) % capacity
    }
  }

  private isSame(slot: number): boolean {
    for (let i = 1; i < SLOT_WORDS; i++) if (this.slots[slot + i] !== this.words[i]) return false
    return true
  }

  private put(slot: number): void {
    if (this.slots[slot] === 0) this.used++
    this.slots.set(this.words, slot)
    this.count(this.words[0] as number, 1)
  }

  private count(expires_at: number, by: number): void {
    const members = this.expiring.get(expires_at)
    // Already swept: the clock was set back.
    if (members === undefined && by < 0) return
    this.expiring.set(expires_at, (members ?? 0) + by)
    this.live += by
  }

  /** Runs once a second, over as many entries as there are different seconds. */
  private sweep(now: number): void {
    this.sweptAt = now
    for (const [second, members] of this.expiring) {
      if (second > now) continue
      this.live -= members
      this.expiring.delete(second)
    }
  }

  /** A new table of the members, at most half full. */
  private rebuild(now: number): void {
    const { slots: before } = this
    let capacity = MIN_SLOTS
    while (capacity < this.live * 2) capacity *= 2
    this.slots = new Uint32Array(capacity * SLOT_WORDS)
    this.used = this.live = 0
    this.expiring = new Map()
    for (let slot = 0; slot < before.length; slot += SLOT_WORDS) {
      if ((before[slot] as number) <= now) continue
      for (let i = 0; i < SLOT_WORDS; i++) this.words[i] = before[slot + i] as number
      this.put(this.find(now).slot)
    }
  }
}
