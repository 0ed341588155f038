// Notices when the clock of the machine is set: tokens then seem to be issued in the future, or expire early.
import type { Logger } from '../telemetry/logger.ts'

const LOOK_MS = 5000
/** A correction by NTP is slower than this in that time. */
const STEP_MS = 2000

/** Logs each step of the clock. `now` and `steady` are milliseconds of the clock, and of one that is never set. Returns what ends it. */
export function watchClock(
  log: Pick<Logger, 'warn'>,
  now: () => number = Date.now,
  steady: () => number = () => performance.now(),
  everyMs = LOOK_MS,
): () => void {
  let offset = now() - steady()
  const timer = setInterval(() => {
    const step = now() - steady() - offset
    offset += step
    if (Math.abs(step) < STEP_MS) return
    const way = step > 0 ? 'forward' : 'back'
    log.warn(
      { seconds: Math.round(step / 1000) },
      `the clock of this machine was set ${way}, or the machine was suspended: check its time synchronisation`,
    )
  }, everyMs)
  timer.unref()
  return () => clearInterval(timer)
}
