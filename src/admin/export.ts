// Exports: every row that fits, newest first, read page by page while the caller takes them.
import { time } from '../lib/field.ts'
import { idFloor } from '../lib/id.ts'
import { invalid } from './outcome.ts'

const PAGE_ROWS = 1000

/** Where an export begins and ends. */
export const range = {
  since: time().optional().describe('From this RFC 3339 time on; from the beginning by default.'),
  until: time().optional().describe('Before this RFC 3339 time.'),
}
interface Range {
  since?: number
  until?: number
}
/** Throws invalid_request for a time range that is empty. */
export function checkRange({ since, until }: Range): void {
  if (since !== undefined && until !== undefined && until <= since)
    throw invalid('until must be after since', 'empty_range')
}

/** A time range as bounds of ids. Throws invalid_request when it is empty. */
export function idRange({ since, until }: Range): { since: string; until?: string } {
  checkRange({ since, until })
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
export async function* mapRows<T, S>(rows: AsyncIterable<T>, shown: (row: T) => S): AsyncGenerator<S> {
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
