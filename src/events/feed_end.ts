// The place up to which the audit trail can be read without missing an event.
import type { Store } from '../store/index.ts'

/** The first place that cannot be read yet. Every event before it is visible, and no event will be added before it. */
export const feedEnd = (store: Pick<Store, 'driver' | 'readPostgresFeedEnd' | 'readSqliteFeedEnd'>): Promise<number> =>
  store.driver.name === 'postgres' ? store.readPostgresFeedEnd() : store.readSqliteFeedEnd()
