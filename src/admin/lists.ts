// Pages and searches of long lists.
import { z } from 'zod'
import { int, text, word } from '../lib/field.ts'
import { ID } from '../lib/id.ts'
import type { Cursor, Found, ListPage } from '../store/list.ts'
import { invalid } from './outcome.ts'

/** The order of a list. */
export const order = word(['oldest', 'newest'])
  .prefault('oldest')
  .describe('Order of the items: oldest or newest first.')
/** The text to search for. */
export const q = text(256).min(1, 'must not be empty').optional()

/** The query parameters of a page of a list. */
export const paging = (most: number, usual: number) => ({
  limit: int(1, most).prefault(usual).describe('Maximum number of items.'),
  offset: int(0, 1_000_000_000).prefault(0).describe('Number of items to skip.'),
})

/** A cursor is as fast at the end of a long list as at its beginning. */
export const AFTER = 'Return items after this id, the last id of the previous page (cursor). Faster than offset.'
/** The cursor of items whose ids are ordered. */
export const after = z
  .string()
  .regex(ID, 'must be the id of the last item of the previous page')
  .optional()
  .describe(AFTER)

/** The cursor after the row with this id, or undefined without an id. Throws invalid_request when the row does not exist. */
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

/** Rows of one window. It is small, so that token requests do not wait for an operator. */
const WINDOW_ROWS = 5000

/** Rows that are returned at once. To hand them over takes far longer than to examine them. */
const PIECE_ROWS = 500

interface Asked extends Pick<ListPage, 'after'> {
  limit: number
  offset: number
}
/** Returns a page of rows, piece by piece, so that token requests do not wait for a long one. */
export async function pieces<T>(
  read: (piece: Asked) => Promise<T[]>,
  placeOf: (row: T) => Cursor,
  { after, limit, offset }: Asked,
): Promise<T[]> {
  const found: T[] = []
  for (let from = { after, offset }; ; ) {
    const wanted = Math.min(PIECE_ROWS, limit - found.length)
    const rows = await read({ ...from, limit: wanted })
    found.push(...rows)
    const last = rows.at(-1)
    if (!last || rows.length < wanted || found.length === limit) return found
    from = { after: placeOf(last), offset: 0 }
  }
}

/** Returns up to `limit` rows that `look` finds, window by window, after a cursor. */
export async function search<T>(
  look: (window: { after?: Cursor; rows: number; limit: number }) => Promise<Found<T>>,
  { after, limit, offset }: Asked,
): Promise<T[]> {
  const found: T[] = []
  for (let from = after, more = true; more && found.length < limit + offset; ) {
    const wanted = Math.min(PIECE_ROWS, limit + offset - found.length)
    const { rows, next } = await look({ after: from, rows: WINDOW_ROWS, limit: wanted })
    found.push(...rows)
    more = next !== undefined
    from = next
  }
  return found.slice(offset, offset + limit)
}
