// The connections of a pool by state, and the operations that wait although all connections are in use. It is looked at each second and
// not at a scrape, because a scrape itself runs operations, for which a small pool has no connection for a moment.
import type { LaneStats } from '../../lib/threads/lane.ts'
import type { ConnectionPool } from './pool.ts'

const EVERY_MS = 1000

/** Looks at a pool of `max` connections, and at the queues of the operations that need one. */
export function watchDemand(pool: Pick<ConnectionPool, 'counts'>, max: number, queues: () => readonly LaneStats[]) {
  let waiting = 0
  const look = () => {
    const { open, idle, waiting: unlent } = pool.counts()
    const queued = queues().reduce((sum, stats) => sum + stats.waiting, unlent)
    waiting = idle === 0 && open >= max ? queued : 0
  }
  const timer = setInterval(look, EVERY_MS).unref()
  return {
    counts: () => ({ ...pool.counts(), waiting }),
    close: () => clearInterval(timer),
  }
}
