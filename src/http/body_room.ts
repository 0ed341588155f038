// Memory for incomplete request bodies. It is bounded per listener, independent of the number of slow connections.

/** Default maximum of all incomplete bodies together. */
export const ROOM_BYTES = 64 * 1024 * 1024

/** The room of one listener. A body that arrives in one chunk, as nearly all do, needs none. */
export class BodyRoom {
  private free: number

  constructor(bytes = ROOM_BYTES) {
    this.free = bytes
  }

  /** Takes room for some bytes. Returns false when there is not enough. */
  take(bytes: number): boolean {
    if (bytes > this.free) return false
    this.free -= bytes
    return true
  }

  /** Returns room that was taken. */
  give(bytes: number): void {
    this.free += bytes
  }
}
