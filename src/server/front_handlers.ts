// What a front thread does when the main thread asks for it.
import type { App } from '../context.ts'
import type { SharedKey } from '../crypto/shared_keys.ts'
import type { OpName } from '../store/operations.ts'
import type { MarkedActivity } from '../telemetry/client_activity.ts'
import type { BucketCounts } from '../telemetry/series.ts'
import { type Moved, takeFrom } from '../telemetry/transfer.ts'

/** What a front thread did since its last report, and how it stands. */
export interface FrontReport {
  moved: Moved
  answered: BucketCounts
  lanes: App['lanes']
  caches: App['store']['caches']
  /** Share of its time that its event loop was busy. */
  busy: number
}

/** What a front thread is asked for. */
export type FrontHandlers = ReturnType<typeof frontHandlers>

interface Ends {
  note(isHealthy: boolean): void
  take(keys: SharedKey[]): void
  close(waitMs: number): Promise<void>
}

/** Answers what the main thread asks of a front thread. */
export function frontHandlers(app: App, { note, take, close }: Ends) {
  let before = performance.eventLoopUtilization()
  const report = (): FrontReport => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    return {
      moved: takeFrom(app.metrics),
      answered: app.series.takeAnswered(),
      lanes: app.lanes,
      caches: Object.fromEntries(
        Object.entries(app.store.caches).map(([name, { hits, misses }]) => [name, { hits, misses }]),
      ),
      busy: Number(utilization.toFixed(3)),
    }
  }
  return {
    /** Forgets what a write changed; everything without one. */
    forget(write: { op: OpName; input: unknown } | undefined): void {
      if (write) app.store.forget(write.op, write.input)
      else app.store.dropCaches()
    },
    /** Another thread has operations of unknown outcome, or has none any more. */
    hold: (isUnsettledElsewhere: boolean): void => app.store.driver.unsettled?.setHeldElsewhere(isUnsettledElsewhere),
    keys(keys: SharedKey[]): Promise<void> {
      take(keys)
      return app.keyring.reload()
    },
    report({ isHealthy }: { isHealthy: boolean }): FrontReport {
      note(isHealthy)
      return report()
    },
    trails: (_: undefined): MarkedActivity[] => app.activity.marked(),
    /** Forgets a key set of an identity provider. */
    dropKeys: (jwks_uri: string): void => app.remoteKeys.drop(jwks_uri),
    /** Drains for so many milliseconds at most, ends everything and reports a last time. */
    async close(waitMs: number): Promise<FrontReport> {
      await close(waitMs)
      return report()
    },
  }
}
