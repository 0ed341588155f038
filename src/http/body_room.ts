// Memory for incomplete request bodies. It is bounded per listener, independent of the number of slow connections.

/** Default maximum of all incomplete bodies together. */
export const ROOM_BYTES = 64 * 1024 * 1024

/** The part of a body that is in the common room. Forms, and the JSON of clients, are not larger. */
const SMALL_BODY = 64 * 1024

/**
 * The room of one listener. A body that arrives in one chunk, as nearly all do, needs none. What a body has beyond SMALL_BODY is in a room of
 * its own: a few large bodies that never end must not leave the small ones of other callers without room.
 */
export class BodyRoom {
  private free: number
  private freeForLarge: number

  /** `large` is the maximum of all parts beyond SMALL_BODY together. */
  constructor(bytes = ROOM_BYTES, large = bytes) {
    this.free = bytes
    this.freeForLarge = large
  }

  /** Takes room for `bytes` more of a body of which `held` bytes are here. Returns false when there is not enough. */
  take(bytes: number, held: number): boolean {
    const beyond = Math.min(bytes, Math.max(0, held + bytes - SMALL_BODY))
    if (bytes - beyond > this.free || beyond > this.freeForLarge) return false
    this.free -= bytes - beyond
    this.freeForLarge -= beyond
    return true
  }

  /** Returns the room of a body of which `held` bytes were here. */
  give(held: number): void {
    const small = Math.min(held, SMALL_BODY)
    this.free += small
    this.freeForLarge += held - small
  }
}
