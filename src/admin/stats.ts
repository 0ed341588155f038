// The counts of GET /admin/stats, read window by window, because there may be millions of tokens.
import type { App } from '../context.ts'
import { idFloor } from '../lib/id.ts'
import { DAY, HOUR } from '../lib/time.ts'
import type { Store } from '../store/index.ts'
import type { CountedTokens } from '../store/system.ts'

/** Rows of one window. It is small, so that other requests do not wait. */
const COUNTED_ROWS = 2000

/** Seconds after the end of an hour at which all its requests are finished. */
const SETTLED_AFTER = 60

/** Revoked tokens by hour, for past hours without live tokens. */
const settled = new WeakMap<Store, Map<number, number>>()

/** Counts accounts, and the tokens of the last 24 hours. Counts that cannot change are kept. */
export async function statsOf({ store, clock }: App) {
  const now = clock.now()
  const since = now - DAY
  const known = settled.get(store) ?? new Map<number, number>()
  settled.set(store, known)
  for (const hour of known.keys()) if (hour < since) known.delete(hour)
  const total = { live: 0, revoked: 0 }
  for (let from = since, until = 0; from <= now; from = until) {
    until = (Math.floor(from / HOUR) + 1) * HOUR
    const revoked = known.get(from)
    const counted = revoked === undefined ? await count(store, from, until, now) : { live: 0, revoked }
    total.live += counted.live
    total.revoked += counted.revoked
    if (counted.live === 0 && until + SETTLED_AFTER <= now && from % HOUR === 0) known.set(from, counted.revoked)
  }
  return { ...(await store.countAccounts()), active_tokens_24h: total.live, revoked_tokens: total.revoked }
}

async function count(store: Store, from: number, until: number, now: number) {
  const total = { live: 0, revoked: 0 }
  const before = idFloor(until)
  for (let after: string | undefined = idFloor(from); after !== undefined; ) {
    const counted: CountedTokens = await store.countTokens({ after, before, rows: COUNTED_ROWS, now })
    total.live += counted.live
    total.revoked += counted.revoked
    after = counted.next
  }
  return total
}
