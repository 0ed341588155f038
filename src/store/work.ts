// The store for work outside of a server: commands and measurements.
import type { Config } from '../config/schema.ts'
import { systemClock } from '../lib/time.ts'
import { type Logger, openLogger } from '../telemetry/logger.ts'
import { Metrics } from '../telemetry/metrics.ts'
import type { Store } from './index.ts'
import { openStore } from './open.ts'

/** Opens the store of a configuration for some work, with a log of errors only, and closes it afterwards. Rejects when the database is unavailable. `creates` is that of openStore. */
export async function withStore<R>(
  { storage, observability }: Pick<Config, 'storage' | 'observability'>,
  work: (store: Store, log: Logger) => Promise<R>,
  creates = false,
): Promise<R> {
  const log = openLogger({ ...observability.logging, level: 'error' })
  const store = await openStore(storage, { log, metrics: new Metrics(), now: systemClock.now(), creates })
  try {
    return await work(store, log)
  } finally {
    await store.driver.close()
  }
}
