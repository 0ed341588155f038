// Operations on the number of tokens that each client with a daily limit received. All instances add to one row for each client and day.
import { all, change, insertRows, num, type Op, str } from '../op.ts'

export interface TokenCount {
  client_id: string
  tokens: number
}

/** Adds tokens to the counts of a day. The clients must differ. */
export function* addTokenCounts({ day, added, now }: { day: number; added: TokenCount[]; now: number }): Op<void> {
  // All instances use the same order. Otherwise two of them could deadlock.
  const rows = added.toSorted((a, b) => (a.client_id < b.client_id ? -1 : 1))
  yield* insertRows(
    'client_token_counts (day, client_id, tokens, updated_at)',
    rows.map(({ client_id, tokens }) => [day, client_id, tokens, now]),
    `ON CONFLICT (day, client_id) DO UPDATE SET tokens = client_token_counts.tokens + excluded.tokens,
       updated_at = excluded.updated_at`,
  )
}

/** A place in the counts of a day, in order of change. */
export interface CountsPlace {
  updated_at: number
  client_id: string
}
export interface CountsPage {
  counts: TokenCount[]
  /** Where to continue; undefined at the end. */
  next?: CountsPlace
}

/** The counts of a day that were changed after a place, page by page. */
export function* readTokenCounts(w: { day: number; after: CountsPlace; limit: number }): Op<CountsPage> {
  const rows = yield* all`SELECT client_id, tokens, updated_at FROM client_token_counts
    WHERE day = ${w.day} AND (updated_at, client_id) > (${w.after.updated_at}, ${w.after.client_id})
    ORDER BY updated_at, client_id LIMIT ${w.limit}`
  const counts = rows.map((row) => ({ client_id: str(row.client_id), tokens: num(row.tokens) }))
  const last = rows.length === w.limit ? rows.at(-1) : undefined
  return { counts, next: last && { updated_at: num(last.updated_at), client_id: str(last.client_id) } }
}

/** Deletes at most `limit` counts of the days before `before`. Returns their number. */
export function* sweepTokenCounts({ before, limit }: { before: number; limit: number }): Op<number> {
  return yield* change`DELETE FROM client_token_counts WHERE (day, client_id) IN
     (SELECT day, client_id FROM client_token_counts WHERE day < ${before} ORDER BY day, client_id LIMIT ${limit})`
}
