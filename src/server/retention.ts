// Deletes expired rows while the service runs (`retention.enabled`), at one instance at a time and once in each interval.
import { longestLife } from '../config/lifetimes.ts'
import type { App } from '../context.ts'
import { newId } from '../lib/id.ts'
import { PURGE_TARGETS } from '../store/expiry.ts'
import { expiredRows, purgeTarget } from './purge.ts'

const LEASE = 'purge'
/** Maximum seconds until a change of retention.enabled takes effect, and until another instance continues after this one has ended. */
const LOOK_SECONDS = 60

/** Starts the timer. It reads the keys at each run, so that a reload can change them. */
export function startRetention(app: App) {
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  let running = Promise.resolve()

  const schedule = () => {
    const seconds = Math.min(app.config.retention.interval, LOOK_SECONDS)
    timer = setTimeout(() => {
      running = purgeOnce(app, () => stopped)
        .catch((error: unknown) => app.log.error({ err: error }, 'expired rows could not be deleted'))
        .finally(() => stopped || schedule())
    }, seconds * 1000)
  }
  schedule()
  return {
    /** Ends the timer. Resolves when the current step is done. */
    async stop(): Promise<void> {
      stopped = true
      clearTimeout(timer)
      await running
    },
  }
}

/** Purges every target, unless retention is off or an instance has begun to purge within the interval. */
export async function purgeOnce(app: App, isStopped: () => boolean = () => false): Promise<void> {
  const { store, clock, config, log } = app
  const { enabled, interval } = config.retention
  if (!enabled) return
  // A holder for each run: this instance, too, has to wait for the end of the interval, also after a restart.
  const lease = { name: LEASE, holder: newId(), until: 0 }
  const hold = () => {
    lease.until = clock.now() + interval
    return store.takeLease({ ...lease, now: clock.now() })
  }
  if (!(await hold())) return
  let [deleted, going] = [0, true]
  const goOn = async () => {
    going = going && !isStopped() && (clock.now() < lease.until - interval / 2 || (await hold()))
    return going
  }
  for (const target of Object.keys(PURGE_TARGETS)) {
    if (!(await goOn())) return
    const rows = expiredRows(store, target, { now: clock.now(), life: longestLife(config) })
    deleted += (await purgeTarget(app, target, rows, goOn)).deleted
  }
  if (deleted > 0) log.info({ deleted }, 'expired rows were deleted')
}
