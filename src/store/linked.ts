// The driver of a front thread: the main thread has the one that the database is behind. What several front threads ask in
// one turn is committed together there.
import { overloaded } from '../lib/error.ts'
import { newStats } from '../lib/lane.ts'
import { type Driver, MAX_QUEUE, UNHEALTHY_MS } from './index.ts'
import type { OpName } from './operations.ts'

export interface Linked extends Driver {
  /** What the main thread says about the health of the storage. */
  note(isHealthy: boolean): void
}

/** A driver that has every operation done by `call`. */
export function linkedDriver(name: Driver['name'], call: (op: OpName, input: unknown) => Promise<unknown>): Linked {
  // What it does is counted by the lane of the main thread; here is only how much of this thread waits for that.
  const stats = newStats()
  let healthyMs = performance.now()
  return {
    name,
    stats,
    note(isHealthy) {
      healthyMs = isHealthy ? performance.now() : Number.NEGATIVE_INFINITY
    },
    isHealthy: () => performance.now() - healthyMs < UNHEALTHY_MS,
    instances: () => 1,
    async call(op, input) {
      // More could only be refused by the queue of the main thread.
      if (stats.waiting >= MAX_QUEUE) throw overloaded('store_lane')
      stats.waiting++
      try {
        return await call(op, input)
      } finally {
        stats.waiting--
      }
    },
    // The main thread says what is to be forgotten.
    onForeignWrite: () => {},
    close: async () => {},
  }
}
