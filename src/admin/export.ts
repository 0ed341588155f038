// Exports: every row that fits, newest first, read page by page while the caller takes them.
import { z } from 'zod'
import { time } from '../lib/field.ts'
import { idFloor, isId } from '../lib/id.ts'
import { invalid } from './outcome.ts'

const PAGE_ROWS = 1000

/** Where an export begins and ends. */
export const range = {
  since: time().optional().describe('From this RFC 3339 time on; from the beginning by default.'),
  until: time().optional().describe('Before this RFC 3339 time.'),
}
/** Goes on behind the last row of the page before: as fast at the end of a long list as at its beginning. */
export const AFTER = 'Go on behind the item with this id, the last one of the page before; faster than offset.'
/** The same for items whose id tells their place. */
export const after = z.string().refine(isId, 'must be the id of the last item before').optional().describe(AFTER)

/** A time range as bounds of ids. Throws invalid_request when it is empty. */
export function idRange({ since, until }: { since?: number; until?: number }): { since: string; until?: string } {
  if (since !== undefined && until !== undefined && until <= since)
    throw invalid('until must be after since', 'empty_range')
  return { since: idFloor(since ?? 0), until: until === undefined ? undefined : idFloor(until) }
}

/** Every row of `page`, which reads some rows with ids before `until`, newest first. */
export async function* newestFirst<T extends { id: string }>(
  page: (until: string | undefined, limit: number) => Promise<T[]>,
  until: string | undefined,
): AsyncGenerator<T> {
  for (let rows = await page(until, PAGE_ROWS); ; ) {
    yield* rows
    const last = rows.length === PAGE_ROWS ? rows.at(-1) : undefined
    if (!last) return
    rows = await page(last.id, PAGE_ROWS)
  }
}

/** Each row as it is shown. */
export async function* mapped<T, S>(rows: AsyncIterable<T>, shown: (row: T) => S): AsyncGenerator<S> {
  for await (const row of rows) yield shown(row)
}

/** The earlier of two ids, of which either may be missing. */
export const earlier = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || b === undefined
    ? (a ?? b)
    : Buffer.compare(Buffer.from(a, 'base64url'), Buffer.from(b, 'base64url')) < 0
      ? a
      : b

/** Rows as JSON lines, some at a time. */
export async function* jsonLines(rows: AsyncIterable<unknown>): AsyncGenerator<string> {
  let text = ''
  for await (const row of rows) {
    text += `${JSON.stringify(row)}\n`
    if (text.length < CHUNK_CHARS) continue
    yield text
    text = ''
  }
  if (text) yield text
}
const CHUNK_CHARS = 65_536
