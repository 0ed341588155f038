// The capacity of one instance: the utilisation that its parts may reach, as measured at the knees, and the rate at which each reaches it.

import { MOST_ROWS, type Sample } from '../run/sample.ts'
import { type Costs, partShare, sampledBytes } from './costs.ts'

/** The knee of a workload, and its share of the requests. The sum of all shares is 1. */
export interface Knee {
  work: string
  share: number
  sample: Sample
}
export interface PlannedUse {
  /** Measured utilisation of the busiest part up to which the objective is met. */
  share: number
  /** The part, and the workload at whose knee it was measured. */
  part: string
  work: string
}
export interface Limit {
  what: string
  /** Requests per second at which the part reaches the utilisation `use`; infinite when no limit was measured. */
  per_s: number
  /** Whether all instances share the part: its rate is then the sum over all instances. */
  shared: boolean
  formula: string
}
/** The planned instance. */
export interface Shape {
  store: string
  cores: number
  frontThreads: number
}

const MEGA = 1e6
/** Upper bound of a utilisation: in short runs, measured values approach 1. */
const MOST_USE = 0.9

/**
 * The lowest utilisation of the busiest part at any knee. Only what the service itself used counts, because the value is divided by
 * the cost of a request for the service. The processors that the load generator and other programs used were not shown to be
 * available, although an instance alone on its machine may use some of them.
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

/** The rate of the mix according to its knees: each workload takes its share of the time. */
export const measuredRate = (knees: readonly Knee[]): number =>
  1 / knees.reduce((sum, { share, sample }) => sum + share / sample.per_s, 0)

const ofProcessors = (what: string, use: number, threads: number, us: number): Limit => ({
  what,
  per_s: us > 0 ? (use * threads * MEGA) / us : Number.POSITIVE_INFINITY,
  shared: false,
  formula: `${use.toFixed(2)} x ${threads} / ${us.toFixed(1)} us`,
})

/** The rates at which each part of an instance is saturated, lowest first. */
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
            formula: `${use.toFixed(2)} x ${Math.round(fsyncs)} forced writes/s x ${MOST_ROWS} rows per commit`,
          },
        ]
      : []),
    limit(`the ${cores} processors`, cores, costs.total_us),
  ].toSorted((a, b) => a.per_s - b.per_s)
}

/** Tolerance for rounding errors. */
const SAME = 1 - 1e-9

/**
 * The limits, preceded by the knees when these show a lower rate: workloads that use different parts could reach a higher rate
 * together, but that was not measured. The knees do not limit an instance that is larger than the measured machine.
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

/** What the report shows about the machine of the database. */
export interface Seen {
  use: number
  cores: number
  /** Forced writes, and bytes written, per second. */
  fsyncs: number
  bytes: number
}

/** The measured rates of the disk: the calibrated forced writes, or more when commits came from many connections. */
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
 * The planned utilisation of the machine of the database: that of the service, or, if it is higher, the lowest utilisation of the
 * database at any knee.
 */
export const databaseUse = (knees: readonly Knee[], cores: number, use: number): number => {
  const seen = knees.map(({ sample }) => ((sample.cpu_us.database ?? 0) * sample.per_s) / MEGA / cores)
  return Math.min(MOST_USE, Math.max(use, Math.min(...seen)))
}

/**
 * The limits that all instances share with PostgreSQL: the processors and the disk of the database, on a machine like the one of the
 * report. `costs` are the costs at the rate of the plan.
 */
export function sharedLimits(costs: Costs, { use, cores, fsyncs, bytes }: Seen): Limit[] {
  const disk = `${use.toFixed(2)} x ${Math.round(fsyncs)} forced writes/s / ${costs.fsyncs.toFixed(3)}`
  return [
    ofProcessors(`the database's ${cores} processors`, use, cores, costs.database_us),
    {
      what: "the database's disk",
      per_s: costs.fsyncs > 0 ? (use * fsyncs) / costs.fsyncs : Number.POSITIVE_INFINITY,
      formula: `${disk}, at least: at higher rates, more commits share a forced write`,
    },
    {
      what: "the database's disk, bytes",
      per_s: Number.POSITIVE_INFINITY,
      formula: `${Math.round(costs.written_bytes)} bytes per request; ${(bytes / MEGA).toFixed(2)} MB/s were measured, and the limit is unknown`,
    },
  ].map((limit) => ({ ...limit, shared: true }))
}

/** The limits in the order in which they are reached as the load of all instances grows. */
export const weakestFirst = (limits: readonly Limit[], instances: number): readonly Limit[] => {
  const inAll = ({ per_s, shared }: Limit) => (shared ? per_s : per_s * instances)
  // The difference of two infinite rates is NaN.
  return limits.toSorted((a, b) => (inAll(a) === inAll(b) ? 0 : inAll(a) - inAll(b)))
}
