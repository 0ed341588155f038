// Searching long lists: some rows at a time, so that no token waits behind an operator, until a page is full.
import { text, word } from '../lib/field.ts'
import type { Found, Place } from '../store/list.ts'

const WINDOW_ROWS = 5000

/** Which rows of a list come first. */
export const order = word(['oldest', 'newest']).prefault('oldest').describe('Which come first.')
/** The text that is searched for. */
export const q = text(256).min(1, 'must not be empty').optional()

/** Up to `limit` of the rows that `look` finds, window by window, from a place on. */
export async function search<T>(
  look: (window: { after?: Place; rows: number }) => Promise<Found<T>>,
  { after, limit, offset }: { after?: Place; limit: number; offset: number },
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
