// The driver of a front thread: the main thread has the one that the database is behind. What several front threads ask in
// one turn is committed together there.
import type { LaneStats } from '../lib/lane.ts'
import type { Driver, OpName } from './index.ts'

export interface Linked extends Driver {
  /** What the main thread says about the health of the storage. */
  note(isHealthy: boolean): void
}

/** Without a word for this long the storage counts as away. */
const UNHEALTHY_MS = 5000

/** A driver that has every operation done by `call`. */
export function linkedDriver(name: Driver['name'], call: (op: OpName, input: unknown) => Promise<unknown>): Linked {
  // Its queue is the one of the main thread.
  const stats: LaneStats = { waiting: 0, running: 0, jobs: 0, batches: 0, refused: 0, busy_ms: 0 }
  let healthyMs = performance.now()
  return {
    name,
    stats,
    note(isHealthy) {
      healthyMs = isHealthy ? performance.now() : Number.NEGATIVE_INFINITY
    },
    isHealthy: () => performance.now() - healthyMs < UNHEALTHY_MS,
    call: (op, input) => call(op, input),
    // The main thread says what is to be forgotten.
    onForeignWrite: () => {},
    close: async () => {},
  }
}
