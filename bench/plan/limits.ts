// What one instance can do: how busy its parts may be, as the knees show it, and the rate at which each of them is that busy.

import { MOST_ROWS, type Sample } from '../run/sample.ts'
import { type Costs, partShare, sampledBytes } from './costs.ts'

/** The knee of a work, and its share of the requests (all together 1). */
export interface Knee {
  work: string
  share: number
  sample: Sample
}
export interface PlannedUse {
  /** How busy the busiest part may be before latencies leave the objective, as measured. */
  share: number
  /** The part that was so busy, and the work at whose knee it was. */
  part: string
  work: string
}
export interface Limit {
  what: string
  /** Requests a second at which it is used up to `use`; infinite where no limit was seen. */
  per_s: number
  /** All instances share it: its rate is that of all of them together, not of one. */
  shared: boolean
  formula: string
}
/** An instance as it is planned. */
export interface Shape {
  store: string
  cores: number
  frontThreads: number
}

const MEGA = 1e6
/** The most that is believed of a part's use: measured shares of short runs go to 1. */
const MOST_USE = 0.9

/**
 * How busy the busiest part of the service was at each knee; of all knees the least. Only what the service itself used counts,
 * because it is divided by what a request costs the service: processors that the load generator or others took are no room that
 * was shown to be there, although an instance alone on its machine may find some of it.
 */
export function useAtKnees(knees: readonly Knee[], cores: number): PlannedUse {
  const uses = knees.map(({ work, sample }) => ({ work, ...busiest(sample, cores) }))
  const least = uses.reduce((a, b) => (b.share < a.share ? b : a))
  return { ...least, share: Math.min(MOST_USE, least.share) }
}

function busiest(sample: Sample, cores: number): Omit<PlannedUse, 'work'> {
  const parts = [
    { part: 'the front thread', share: partShare(sample, 'front') },
    { part: 'the crypto threads', share: partShare(sample, 'crypto') },
    { part: 'the storage thread', share: partShare(sample, 'store') },
    { part: 'the processors', share: ((sample.cpu_us.total ?? 0) * sample.per_s) / MEGA / cores },
  ]
  return parts.reduce((a, b) => (b.share > a.share ? b : a))
}

/** The rate of the mix that its knees show: each kind of request takes its share of the time. */
export const measuredRate = (knees: readonly Knee[]): number =>
  1 / knees.reduce((sum, { share, sample }) => sum + share / sample.per_s, 0)

const ofProcessors = (what: string, use: number, threads: number, us: number): Limit => ({
  what,
  per_s: us > 0 ? (use * threads * MEGA) / us : Number.POSITIVE_INFINITY,
  shared: false,
  formula: `${use.toFixed(2)} x ${threads} / ${us.toFixed(1)} us`,
})

/** Requests a second of one instance at which each part is used up, the weakest first. */
export function limitsOf(
  costs: Costs,
  { cores, frontThreads, store }: Shape,
  { use, fsyncs }: { use: number; fsyncs: number },
): Limit[] {
  const cryptoThreads = Math.max(1, Math.min(16, cores - 1))
  const limit = (what: string, threads: number, us: number) => ofProcessors(what, use, threads, us)
  return [
    limit(frontThreads > 1 ? `the ${frontThreads} front threads` : 'the front thread', frontThreads, costs.front_us),
    limit(`the ${cryptoThreads} crypto thread${cryptoThreads > 1 ? 's' : ''}`, cryptoThreads, costs.crypto_us),
    ...(store === 'sqlite'
      ? [
          limit('the storage thread', 1, costs.store_us),
          {
            what: 'the disk',
            per_s: costs.fsyncs > 0 ? use * fsyncs * MOST_ROWS : Number.POSITIVE_INFINITY,
            shared: false,
            formula: `${use.toFixed(2)} x ${Math.round(fsyncs)} forced writes/s x ${MOST_ROWS} rows together`,
          },
        ]
      : []),
    limit(`the ${cores} processors`, cores, costs.total_us),
  ].toSorted((a, b) => a.per_s - b.per_s)
}

/** Rounding of figures that are the same. */
const SAME = 1 - 1e-9

/**
 * The limits, and before them the knees where these show less: works that keep different parts busy could do more together than
 * each alone, but nobody measured that. An instance that is larger than the measured machine is not held to its knees.
 */
export function heldToKnees(limits: readonly Limit[], knees: readonly Knee[], isLarger: boolean): readonly Limit[] {
  const per_s = measuredRate(knees)
  const isLess = per_s < SAME * (limits[0]?.per_s ?? 0)
  return isLess && !isLarger
    ? [
        {
          what: 'the measured knees',
          per_s,
          shared: false,
          formula: '1 / sum(share / knee): nothing higher was measured',
        },
        ...limits,
      ]
    : limits
}

/** What the report shows of the machine that the database was on. */
export interface Seen {
  use: number
  cores: number
  /** Forced writes, and bytes written, a second. */
  fsyncs: number
  bytes: number
}

/** What the disk was seen to do: forced writes as calibrated, or more of them where commits came from many connections. */
export function diskSeen(knees: readonly Knee[], calibrated: number | null): Pick<Seen, 'fsyncs' | 'bytes'> {
  const most = (of: (sample: Sample) => number) => Math.max(...knees.map(({ sample }) => of(sample) * sample.per_s))
  return {
    fsyncs: Math.max(
      calibrated ?? 0,
      most(({ fsyncs }) => fsyncs ?? 0),
    ),
    bytes: most((sample) => sampledBytes(sample)),
  }
}

/**
 * How busy the database's machine may be: as busy as the service was at the least of its knees, or as the database was seen to be
 * at all of them if that is more.
 */
export const databaseUse = (knees: readonly Knee[], cores: number, use: number): number => {
  const seen = knees.map(({ sample }) => ((sample.cpu_us.database ?? 0) * sample.per_s) / MEGA / cores)
  return Math.min(MOST_USE, Math.max(use, Math.min(...seen)))
}

/**
 * What all instances share where the database is PostgreSQL: its processors and its disk, on a machine like that of the report.
 * `costs` are those at the rate of the plan: what all of them ask of it together.
 */
export function sharedLimits(costs: Costs, { use, cores, fsyncs, bytes }: Seen): Limit[] {
  const disk = `${use.toFixed(2)} x ${Math.round(fsyncs)} forced writes/s / ${costs.fsyncs.toFixed(3)}`
  return [
    ofProcessors(`the database's ${cores} processors`, use, cores, costs.database_us),
    {
      what: "the database's disk",
      per_s: costs.fsyncs > 0 ? (use * fsyncs) / costs.fsyncs : Number.POSITIVE_INFINITY,
      formula: `${disk}, at least: the more commits there are, the more share one`,
    },
    {
      what: "the database's disk, bytes",
      per_s: Number.POSITIVE_INFINITY,
      formula: `${Math.round(costs.written_bytes)} bytes a request; ${(bytes / MEGA).toFixed(2)} MB/s were seen, and no limit was looked for`,
    },
  ].map((limit) => ({ ...limit, shared: true }))
}

/** The weakest first, as the load of all instances together grows. */
export const weakestFirst = (limits: readonly Limit[], instances: number): readonly Limit[] => {
  const inAll = ({ per_s, shared }: Limit) => (shared ? per_s : per_s * instances)
  // Two infinite rates have no difference.
  return limits.toSorted((a, b) => (inAll(a) === inAll(b) ? 0 : inAll(a) - inAll(b)))
}
