// The driver of a front thread. It sends every operation to the main thread, which has the driver of the database. Operations of
// several front threads that arrive in one turn are committed together there.
import { overloaded } from '../lib/error.ts'
import { newStats } from '../lib/threads/lane.ts'
import { type Driver, MAX_QUEUE, UNHEALTHY_MS } from './index.ts'
import type { OpName } from './operations.ts'

export interface Linked extends Driver {
  /** The health of the storage as the main thread reports it. */
  note(isHealthy: boolean): void
}

/** A driver that runs every operation by `call`. */
export function linkedDriver(name: Driver['name'], call: (op: OpName, input: unknown) => Promise<unknown>): Linked {
  // The lane of the main thread counts the operations. These figures show only how many operations of this thread wait for it.
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
      // The queue of the main thread would refuse more.
      if (stats.waiting >= MAX_QUEUE) throw overloaded('store_lane')
      stats.waiting++
      try {
        return await call(op, input)
      } finally {
        stats.waiting--
      }
    },
    // The main thread sends the invalidations.
    onForeignWrite: () => {},
    close: async () => {},
  }
}
