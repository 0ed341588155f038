// Operations on the sums of requests and tokens by minute and by hour. All instances add to the same rows.
import type { ActivityKind, ActivitySum } from '../telemetry/activity_sums.ts'
import { all, change, insertRows, is, num, type Op, raw, str, where } from './op.ts'

const HOUR = 3600
/** Seconds of a row, and for how long the rows are kept. */
const KEPT = [
  [60, 7 * 24 * HOUR],
  [HOUR, 90 * 24 * HOUR],
] as const

/** Adds sums to the rows of their minute and of its hour. The kinds and names must differ. */
export function* addActivity({ at, sums }: { at: number; sums: ActivitySum[] }): Op<void> {
  // All instances use the same order. Otherwise two of them could deadlock.
  const ordered = sums.toSorted((a, b) => (a.kind + a.name < b.kind + b.name ? -1 : 1))
  for (const [step] of KEPT)
    yield* insertRows(
      'activity_sums (step, kind, name, starts_at, requests, refused, limited, issued)',
      ordered.map((s) => [step, s.kind, s.name, at - (at % step), s.requests, s.refused, s.limited, s.issued]),
      `ON CONFLICT (step, kind, name, starts_at) DO UPDATE SET requests = activity_sums.requests + excluded.requests,
         refused = activity_sums.refused + excluded.refused, limited = activity_sums.limited + excluded.limited,
         issued = activity_sums.issued + excluded.issued`,
    )
}

export interface ActivityRange {
  kind: ActivityKind
  /** Default: every name. */
  name?: string
  /** Epoch seconds. Periods begin at `from` or later and before `until`. */
  from: number
  until: number
  /** Seconds of a nth: a multiple of a minute; from an hour on a multiple of an hour. */
  width: number
}

/** The sums of a kind by nth, oldest first. Periods and names without rows are left out. */
export function* readActivity({ kind, name, from, until, width }: ActivityRange): Op<(ActivitySum & { at: number })[]> {
  const range = where(
    ['step = ?', width < HOUR ? 60 : HOUR],
    ['kind = ?', kind],
    is('name', name),
    ['starts_at >= ?', from],
    ['starts_at < ?', until],
  )
  const sum = (column: string) => `CAST(sum(${column}) AS BIGINT) AS ${column}`
  const sums = raw(['requests', 'refused', 'limited', 'issued'].map(sum).join(', '))
  const rows = yield* all`SELECT name, CAST(starts_at / ${width} AS BIGINT) AS nth, ${sums}
    FROM activity_sums ${range} GROUP BY name, nth ORDER BY nth, name`
  return rows.map((row) => ({
    kind,
    name: str(row.name),
    at: num(row.nth) * width,
    requests: num(row.requests),
    refused: num(row.refused),
    limited: num(row.limited),
    issued: num(row.issued),
  }))
}

/** Deletes at most `limit` old rows of each step. Returns their number. */
export function* sweepActivity({ now, limit }: { now: number; limit: number }): Op<number> {
  let deleted = 0
  for (const [step, kept] of KEPT)
    deleted += yield* change`DELETE FROM activity_sums WHERE (step, kind, name, starts_at) IN
      (SELECT step, kind, name, starts_at FROM activity_sums
        WHERE step = ${step} AND starts_at < ${now - kept} ORDER BY starts_at LIMIT ${limit})`
  return deleted
}
