// The place of a receiver in the audit trail: past an event, after an attempt to send an event, and the end up to which events can be read.
import type { EventCursor, FeedPlace, IssuedPlace, MadeAttempt } from '../records/event_receiver.ts'
import type { Store } from '../store/index.ts'

/** Seconds until the next attempt, by the number of consecutive failed attempts. The last value is repeated. */
const PAUSES = [2, 5, 15, 60, 300, 600] as const
/** Seconds until the next attempt after some failed ones. */
export const pauseAfter = (attempts: number): number => PAUSES[Math.min(attempts, PAUSES.length) - 1] ?? PAUSES[0]

/** Number of recent attempts that are stored for the operator. */
const RECENT = 10
const MAX_ERROR = 300

/** The cursor moved past an event, with no failed attempts. */
export const passed = (cursor: EventCursor, place: FeedPlace | IssuedPlace): EventCursor => ({
  ...cursor,
  ...place,
  attempts: 0,
  retry_at: 0,
})

/** The cursor after an attempt to send the event at `place`. */
export function afterAttempt(
  cursor: EventCursor,
  place: FeedPlace | IssuedPlace,
  { error, response: _, ...made }: MadeAttempt,
  now: number,
): EventCursor {
  const last_error = error?.slice(0, MAX_ERROR)
  const recent = [{ ...made, ...(last_error ? { error: last_error } : {}) }, ...cursor.recent].slice(0, RECENT)
  if (last_error === undefined)
    return {
      ...passed(cursor, place),
      failing_since: undefined,
      last_error: undefined,
      delivered_at: now,
      recent,
    }
  const attempts = cursor.attempts + 1
  const failing_since = cursor.failing_since ?? now
  return { ...cursor, attempts, retry_at: now + pauseAfter(attempts), failing_since, last_error, recent }
}

/** The first place that cannot be read yet. Every event before it is visible, and no event will be added before it. */
export const feedEnd = (store: Pick<Store, 'driver' | 'readPostgresFeedEnd' | 'readSqliteFeedEnd'>): Promise<number> =>
  store.driver.name === 'postgres' ? store.readPostgresFeedEnd() : store.readSqliteFeedEnd()
