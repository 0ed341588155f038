// Memory for request bodies that have come in part: bounded for a listener, however many connections are slow.

/** What all bodies that are still coming may hold together. */
export const ROOM_BYTES = 64 * 1024 * 1024

/** The room of one listener. A body that comes in one piece, as nearly all do, never needs any. */
export class BodyRoom {
  private free: number

  constructor(bytes = ROOM_BYTES) {
    this.free = bytes
  }

  /** Takes room for so many bytes; false when there is not so much. */
  take(bytes: number): boolean {
    if (bytes > this.free) return false
    this.free -= bytes
    return true
  }

  /** Gives back what was taken. */
  give(bytes: number): void {
    this.free += bytes
  }
}
