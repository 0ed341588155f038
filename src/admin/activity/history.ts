// The stored sums of requests and tokens, of all instances, as charts need them.
import { z } from 'zod'
import type { App } from '../../context.ts'
import { text, word } from '../../lib/field.ts'
import { idFloor } from '../../lib/id.ts'
import { DAY, dated, HOUR, rfc3339 } from '../../lib/time.ts'
import type { AuditAction } from '../../oauth/audit_events.ts'
import { nameOf } from '../../oauth/tokens/resource.ts'
import type { ResultOf } from '../../store/operations.ts'
import type { ActivityKind } from '../../telemetry/activity_sums.ts'
import { storedQuantiles } from '../../telemetry/series.ts'
import { type AdminResource, action } from '../action.ts'
import * as answers from '../answers/activity.ts'
import { invalid } from '../outcome.ts'

/** Seconds that a range covers, and seconds of its periods. */
const RANGES = {
  '1h': [HOUR, 60],
  '24h': [DAY, 600],
  '7d': [7 * DAY, HOUR],
  '30d': [30 * DAY, 4 * HOUR],
} as const

/** The changes that charts mark, and what each is. */
const MARKS: readonly (readonly [AuditAction, Mark['kind'], string])[] = [
  ['key_rotated', 'key', 'signing key rotated'],
  ['key_revoked', 'key', 'signing key revoked'],
  ['config_reloaded', 'configuration', 'configuration reloaded'],
  ['dcr_mode_updated', 'configuration', 'client registration mode changed'],
]
/** Marks of one kind, the latest ones. */
const MOST_MARKS = 20

interface Mark {
  at: number
  kind: 'deploy' | 'key' | 'configuration'
  text: string
}
type Rows = ResultOf<'readActivity'>
interface Span {
  from: number
  until: number
  width: number
}

/** The periods of a range. The last one has not ended. */
function spanOf(range: keyof typeof RANGES, now: number): Span {
  const [seconds, width] = RANGES[range]
  const last = now - (now % width)
  return { from: last + width - seconds, until: last + width, width }
}

/** Stored sums, and those of this process that are not written yet. */
export async function readSums(app: App, kind: ActivityKind, span: Span, name?: string): Promise<Rows> {
  const stored = await app.store.readActivity({ kind, ...span, ...(name === undefined ? {} : { name }) })
  const unwritten = app.sums
    .look()
    .filter(({ at }) => at >= span.from && at < span.until)
    .flatMap(({ at, sums }) => sums.map((sum) => ({ ...sum, at: at - (at % span.width) })))
  return [...stored, ...unwritten.filter((sum) => sum.kind === kind && (name === undefined || sum.name === name))]
}

const byPeriod = (rows: Rows): Map<number, Rows> => {
  const periods = new Map<number, Rows>()
  for (const row of rows) periods.set(row.at, [...(periods.get(row.at) ?? []), row])
  return periods
}

const COUNTS = ['requests', 'refused', 'limited', 'issued'] as const
/** Rows as one sum. Without rows: zero. */
const summed = (rows: Rows = []) =>
  Object.fromEntries(COUNTS.map((count) => [count, rows.reduce((sum, row) => sum + row[count], 0)]))

/** A count by name. */
function byName(rows: Rows = [], count: (typeof COUNTS)[number]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const row of rows) {
    const name = row.name || 'other'
    counts[name] = (counts[name] ?? 0) + row[count]
  }
  return counts
}

/** The periods of everything. A period without a row was not measured, and is left out. */
async function pointsOfAll(app: App, span: Span) {
  const kinds = ['all', 'grant', 'reason', 'latency'] as const
  const [all, grants, reasons, latencies] = await Promise.all(
    kinds.map(async (kind) => byPeriod(await readSums(app, kind, span))),
  )
  return [...(all ?? [])].map(([at, rows]) => ({
    at,
    ...summed(rows),
    grants: byName(grants?.get(at), 'issued'),
    reasons: byName(reasons?.get(at), 'refused'),
    ...storedQuantiles(latencies?.get(at) ?? []),
  }))
}

/** The periods of one name. Without a row it had no requests, unless it may be among those that have no row of their own. */
async function pointsOfName(app: App, span: Span, { kind, name }: Selected) {
  const [all, own, rest] = await Promise.all([
    readSums(app, 'all', span),
    readSums(app, kind, span, name),
    readSums(app, kind, span, ''),
  ])
  const [named, unnamed] = [byPeriod(own), byPeriod(rest)]
  return [...byPeriod(all).keys()]
    .filter((at) => named.has(at) || !unnamed.has(at))
    .map((at) => ({ at, ...summed(named.get(at)) }))
}

async function marksOf({ store }: App, { from, until, width }: Span): Promise<Mark[]> {
  const since = idFloor(from)
  const changes = await Promise.all(
    MARKS.map(async ([action, kind, text]) =>
      (await store.listAudit({ action, since, limit: MOST_MARKS, offset: 0 })).map(({ created_at: at }) => ({
        at,
        kind,
        text,
      })),
    ),
  )
  const starts = await store.readActivity({ kind: 'start', from, until, width: Math.min(width, HOUR) })
  const deploys = starts
    .slice(-MOST_MARKS)
    .map(({ at, name }): Mark => ({ at, kind: 'deploy', text: `${name} started` }))
  return [...changes.flat(), ...deploys].sort((a, b) => a.at - b.at)
}

interface Selected {
  kind: ActivityKind
  name: string
}
/** What a query selects. Undefined: everything. */
async function selected(
  { store }: App,
  { client_id, resource, user_id }: { client_id?: string; resource?: string; user_id?: string },
): Promise<Selected | undefined> {
  if ([client_id, resource, user_id].filter((each) => each !== undefined).length > 1)
    throw invalid('only one of client_id, resource and user_id can be given', 'several_names')
  if (client_id !== undefined) return { kind: 'client', name: client_id }
  if (user_id !== undefined) return { kind: 'user', name: user_id }
  if (resource === undefined) return undefined
  const found = await store.findResourceByName({ name: resource })
  return { kind: 'resource', name: found ? nameOf(found) : resource }
}

export const activityHistory: AdminResource = {
  name: 'activity',
  doc: 'Stored sums of requests and tokens.',
  actions: {
    history: action('GET /admin/activity/history', {
      doc: 'Shows requests, refusals and tokens of all instances by period, oldest first, and deploys, key rotations and changed configuration in that time. Periods that were not measured are left out. The sums of a minute are stored when it has ended, and kept for 7 days, those of an hour for 90.',
      answer: answers.history,
      cli: { rows: 'points' },
      tool: { name: 'activity_history', title: 'Requests, refusals and tokens over time', rows: 'points' },
      query: z.strictObject({
        range: word(['1h', '24h', '7d', '30d'])
          .prefault('24h')
          .describe('Time until now: 1h in periods of a minute, 24h of ten minutes, 7d of an hour, 30d of four hours.'),
        client_id: text(2048).optional().describe('Only requests of this client.'),
        resource: text(2048).optional().describe('Only tokens for this resource: its URI, slug or id.'),
        user_id: text(2048).optional().describe('Only tokens about this user.'),
      }),
      async run(app, { query: { range, ...names } }) {
        const span = spanOf(range, app.clock.now())
        const one = await selected(app, names)
        const [points, marks] = await Promise.all([
          one ? pointsOfName(app, span, one) : pointsOfAll(app, span),
          marksOf(app, span),
        ])
        const timed = <T extends { at: number }>(all: readonly T[]) => all.toSorted((a, b) => a.at - b.at).map(dated)
        const { from, until, width } = span
        return {
          shown: {
            range,
            period: width,
            from: rfc3339(from),
            until: rfc3339(until),
            points: timed(points),
            marks: timed(marks),
          },
        }
      },
    }),
  },
}
