// Long lists: how a page of one is asked for, and how one is searched.
import { z } from 'zod'
import { text, word } from '../lib/field.ts'
import { isId } from '../lib/id.ts'
import type { Cursor, Found } from '../store/list.ts'
import { invalid } from './outcome.ts'

/** Which rows of a list come first. */
export const order = word(['oldest', 'newest']).prefault('oldest').describe('Which come first.')
/** The text that is searched for. */
export const q = text(256).min(1, 'must not be empty').optional()

/** Goes on behind the last row of the page before: as fast at the end of a long list as at its beginning. */
export const AFTER = 'Go on behind the item with this id, the last one of the page before; faster than offset.'
/** The same for items whose id tells their place. */
export const after = z.string().refine(isId, 'must be the id of the last item before').optional().describe(AFTER)

/** The place of the row with this id, to go on behind it; none without an id. Throws invalid_request when there is no such row. */
export async function cursorOf(
  what: string,
  id: string | undefined,
  find: (id: string) => Promise<{ id: string; created_at: number } | undefined>,
): Promise<Cursor | undefined> {
  if (id === undefined) return undefined
  const row = await find(id)
  if (!row) throw invalid(`after names no ${what}`, 'unknown_place')
  return { at: row.created_at, id: row.id }
}

/** So few at a time that no token waits behind an operator. */
const WINDOW_ROWS = 5000

/** Up to `limit` of the rows that `look` finds, window by window, from a place on. */
export async function search<T>(
  look: (window: { after?: Cursor; rows: number }) => Promise<Found<T>>,
  { after, limit, offset }: { after?: Cursor; limit: number; offset: number },
): Promise<T[]> {
  const found: T[] = []
  for (let from = after, more = true; more && found.length < limit + offset; ) {
    const { rows, next } = await look({ after: from, rows: WINDOW_ROWS })
    found.push(...rows)
    more = next !== undefined
    from = next
  }
  return found.slice(offset, offset + limit)
}
