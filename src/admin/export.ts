// Exports: every matching row, newest first, read page by page as the caller consumes them.
import type { Config } from '../config/schema.ts'
import { time } from '../lib/field.ts'
import { compareIds, idFloor } from '../lib/id.ts'
import { rfc3339 } from '../lib/time.ts'
import { invalid } from './outcome.ts'

const PAGE_ROWS = 1000

/** The time range of an export. */
export const range = {
  since: time().optional().describe('Start time (RFC 3339). Default: no limit.'),
  until: time().optional().describe('End time (RFC 3339), exclusive.'),
}
/** Times in epoch seconds. */
export interface TimeRange {
  since?: number
  until?: number
}
/** Throws invalid_request for an empty time range. */
export function checkRange({ since, until }: TimeRange): void {
  if (since !== undefined && until !== undefined && until <= since)
    throw invalid('until must be after since', 'empty_range')
}

/** A time range as bounds of ids. Throws invalid_request when it is empty. */
export function idRange({ since, until }: TimeRange): { since: string; until?: string } {
  checkRange({ since, until })
  return { since: idFloor(since ?? 0), until: until === undefined ? undefined : idFloor(until) }
}

/** Yields every row in the form of the answer. `page` reads some rows with ids before `until`, newest first. */
export async function* newestFirst<T extends { id: string }, S>(
  page: (until: string | undefined, limit: number) => Promise<T[]>,
  until: string | undefined,
  shown: (row: T) => S,
): AsyncGenerator<S> {
  for (let rows = await page(until, PAGE_ROWS); ; ) {
    yield* rows.map(shown)
    const last = rows.length === PAGE_ROWS ? rows.at(-1) : undefined
    if (!last) return
    rows = await page(last.id, PAGE_ROWS)
  }
}

/** The earlier of two ids, of which either may be missing. */
export const earlier = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || b === undefined ? (a ?? b) : compareIds(a, b) < 0 ? a : b

/** Converts rows to chunks of JSON lines. */
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

/** The event of an export, with its filters. Undefined if the configuration turns it off. */
export const exportEvent = ({ admin }: Config, exported: string, { since, until, ...filters }: TimeRange) =>
  admin.audit_exports
    ? { detail: { exported, filters: { ...filters, since: shownTime(since), until: shownTime(until) } } }
    : undefined
const shownTime = (at: number | undefined): string | undefined => (at === undefined ? undefined : rfc3339(at))
