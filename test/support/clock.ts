// A clock that stands still until a test moves it.
import type { Clock } from '../../src/lib/time.ts'

export interface TestClock extends Clock {
  advance(seconds: number): void
}

/** Starts at `start` (epoch seconds). */
export function testClock(start = 1_800_000_000): TestClock {
  let now = start
  return {
    now: () => now,
    advance(seconds) {
      now += seconds
    },
  }
}
