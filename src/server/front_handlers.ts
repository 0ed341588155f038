// The RPC handlers of a front thread: the procedures that the supervisor calls.

import type { Config } from '../config/schema.ts'
import type { App, FrontThreadReport } from '../context.ts'
import type { SharedKey } from '../crypto/shared_keys.ts'
import type { Caches } from '../lib/cache.ts'
import type { HistogramCounts } from '../lib/histogram.ts'
import { deserialise, type Serialised } from '../lib/secret.ts'
import type { KeySetState } from '../net/jwks.ts'
import type { MinuteSums } from '../telemetry/activity_sums.ts'
import type { MarkedActivity } from '../telemetry/client_activity.ts'
import type { ClientFailure } from '../telemetry/client_failures.ts'
import { mapValues } from '../telemetry/lanes.ts'
import { type Moved, takeFrom } from '../telemetry/transfer.ts'
import { takeLive } from './reload.ts'
import type { Write } from './supervisor_handlers.ts'

/** What a front thread counted since its last report, and its present state. */
export interface FrontReport {
  moved: Moved
  /** Durations of the answers of the token endpoint. */
  answered: HistogramCounts
  /** Its requests by minute, and the refused ones of clients. */
  sums: MinuteSums[]
  failures: ClientFailure[]
  lanes: App['lanes']
  caches: Caches<'hits' | 'misses'>
  /** Utilisation of its event loop, 0 to 1. */
  busy: number
  /** The ends of the certificates of providers, by host. */
  certificates: Record<string, number>
  /** Of its own pool, with PostgreSQL. */
  connections?: FrontThreadReport['connections']
}

/** The procedures of a front thread. */
export type FrontHandlers = ReturnType<typeof frontHandlers>

interface FrontActions {
  /** Sets the health of the database, as the supervisor determined it. */
  setHealthy(isHealthy: boolean): void
  setKeys(keys: SharedKey[]): void
  close(waitMs: number): Promise<void>
}

/** Makes the handlers of a front thread. */
export function frontHandlers(app: App, { setHealthy, setKeys, close }: FrontActions) {
  const report = createReporter(app)
  return {
    /** Removes what a write changed from the caches; without a write, clears them. */
    forget(write: Write | undefined): void {
      if (write) app.store.forget(write.op, write.input)
      else app.store.dropCaches()
    },
    /** Another thread has operations of unknown outcome, or has none any more. */
    hold: (isUnsettledElsewhere: boolean): void => app.store.driver.unsettled?.setHeldElsewhere(isUnsettledElsewhere),
    keys(keys: SharedKey[]): Promise<void> {
      setKeys(keys)
      return app.keyring.reload()
    },
    report({ isHealthy }: { isHealthy: boolean }): FrontReport {
      setHealthy(isHealthy)
      return report()
    },
    /** Takes the live keys of the configuration of the supervisor. */
    configure: (config: Serialised): void => {
      takeLive(app, deserialise(config) as Config)
    },
    activity: (_: undefined): MarkedActivity[] => app.activity.marked(),
    /** Removes a key set of an identity provider from the cache. */
    dropKeys: (jwks_uri: string): void => app.remoteKeys.drop(jwks_uri),
    lookAtKeys: (jwks_uri: string): Promise<KeySetState> => app.remoteKeys.look(jwks_uri),
    /** Begins to drain. */
    drain(_: undefined): void {
      app.lifecycle.draining = true
    },
    /** Drains for up to `waitMs`, closes everything and returns the last report. */
    async close(waitMs: number): Promise<FrontReport> {
      await close(waitMs)
      return report()
    },
  }
}

function createReporter(app: App): () => FrontReport {
  let before = performance.eventLoopUtilization()
  return () => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    return {
      moved: takeFrom(app.metrics),
      answered: app.series.takeAnswered(),
      sums: app.sums.take(app.clock.now(), true),
      failures: app.failures.take(),
      lanes: app.lanes,
      caches: mapValues(app.store.caches, ({ hits, misses }) => ({ hits, misses })),
      busy: Number(utilization.toFixed(3)),
      certificates: app.certificates.all(),
      connections: app.store.driver.connections?.(),
    }
  }
}
