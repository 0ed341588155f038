// Where a token waits: the stages of the batches of each queue, from the metrics of the service.

/** How many batches lasted at most as long as each bound (seconds), by queue and stage. */
export type StageCounts = Record<string, Record<string, number>>

/** The stages of one queue: percentiles over its batches, in milliseconds. A percentile is the upper bound of its bucket. */
export type StageTimes = Record<string, { p50: number | null; p99: number | null }>

const BUCKET = /^ext_lane_seconds_bucket\{([^}]*)\} (\S+)$/gm
const labelsOf = (text: string): Record<string, string> =>
  Object.fromEntries([...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]))

const boundOf = (le: string): number => (le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le))

/** Reads the stages from a scrape. */
export function readStages(scrape: string): StageCounts {
  const counts: StageCounts = {}
  for (const [, labels = '', value] of scrape.matchAll(BUCKET)) {
    const { lane, stage, le = '' } = labelsOf(labels)
    const name = `${lane} ${stage}`
    counts[name] = { ...counts[name], [le]: Number(value) }
  }
  return counts
}

/** The sum of two counts, or with -1 their difference. */
export const combineStages = (a: StageCounts, b: StageCounts, sign: 1 | -1): StageCounts =>
  joined(a, b, (one = {}, other = {}) => joined(one, other, (x = 0, y = 0) => x + sign * y))

/** Joins the members of two records, each of which may lack some. */
const joined = <T>(a: Record<string, T>, b: Record<string, T>, join: (a?: T, b?: T) => T): Record<string, T> =>
  Object.fromEntries(Object.keys({ ...a, ...b }).map((name) => [name, join(a[name], b[name])]))

/** The percentiles of counts. */
export const stageTimes = (counts: StageCounts): StageTimes =>
  Object.fromEntries(
    Object.entries(counts).flatMap(([name, buckets]) => {
      const total = buckets['+Inf'] ?? 0
      // Sorted, because objects list names that are whole numbers first.
      const bounds = Object.keys(buckets).sort((a, b) => boundOf(a) - boundOf(b))
      const at = (share: number) => {
        const bound = boundOf(bounds.find((le) => (buckets[le] ?? 0) >= share * total) ?? '+Inf')
        return bound < Number.POSITIVE_INFINITY ? bound * 1000 : null
      }
      return total > 0 ? [[name, { p50: at(0.5), p99: at(0.99) }]] : []
    }),
  )
