// The capacity of one instance. The measured machine serves the rate that the open-loop knees of the parts of the mix give. At that rate
// its busiest part has a utilisation, and an instance of another shape may use each of its parts up to the same utilisation.

import { MOST_ROWS, type Sample } from '../run/sample.ts'
import { type Costs, sampledBytes } from './costs.ts'

/** The knee of a workload, and its share of the requests. The sum of all shares is 1. */
export interface Knee {
  work: string
  share: number
  sample: Sample
}
export interface PlannedUse {
  /** Utilisation of the busiest part of the measured machine at the measured rate of the mix. */
  share: number
  part: string
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
/** Upper bound of the utilisation of a database, whose machine was not measured alone. */
const MOST_USE = 0.9

/** The rate of the mix according to its knees: each workload takes its share of the time. */
export const measuredRate = (knees: readonly Knee[]): number =>
  1 / knees.reduce((sum, { share, sample }) => sum + share / sample.per_s, 0)

/** What a mix reached of the rate that its knees give, in measurements on an idle machine (docs/performance.md). */
const MIXED_SHARE = 0.85
/**
 * The share of the rate of the knees that an instance reaches with all of these workloads together. One process that serves several kinds
 * of requests uses more CPU for each: their code and pages share the caches, and fewer requests of a kind share a batch.
 */
export const mixedShare = ({ length }: readonly Knee[]): number => (length > 1 ? MIXED_SHARE : 1)

/** A part of an instance: the CPU time of a request in it, and the threads or processors that share it. */
interface InstancePart {
  what: string
  us: number
  of: number
}

function partsOf(costs: Costs, { cores, frontThreads, store }: Shape): InstancePart[] {
  const cryptoThreads = Math.max(1, Math.min(16, cores - 1))
  return [
    { what: `the ${cores} processors`, us: costs.total_us, of: cores },
    {
      what: frontThreads > 1 ? `the ${frontThreads} front threads` : 'the front thread',
      us: costs.front_us,
      of: frontThreads,
    },
    {
      what: `the ${cryptoThreads} crypto thread${cryptoThreads > 1 ? 's' : ''}`,
      us: costs.crypto_us,
      of: cryptoThreads,
    },
    ...(store === 'sqlite' ? [{ what: 'the storage thread', us: costs.store_us, of: 1 }] : []),
  ]
}

/**
 * The busiest part of the measured machine, and its utilisation, at the measured rate of the mix. Only what the service itself used
 * counts: the processors that the load generator and other programs used were not shown to be available.
 */
export function useAtRate(costs: Costs, measured: Shape, per_s: number): PlannedUse {
  const uses = partsOf(costs, measured).map(({ what, us, of }) => ({ part: what, share: (per_s * us) / MEGA / of }))
  return uses.reduce((a, b) => (b.share > a.share ? b : a))
}

const ofProcessors = (what: string, use: number, threads: number, us: number): Limit => ({
  what,
  per_s: us > 0 ? (use * threads * MEGA) / us : Number.POSITIVE_INFINITY,
  shared: false,
  formula: `${use.toFixed(2)} x ${threads} / ${us.toFixed(1)} us`,
})

/** The rates at which each part of an instance is saturated, lowest first. */
export function limitsOf(costs: Costs, shape: Shape, { use, fsyncs }: { use: number; fsyncs: number }): Limit[] {
  const disk: Limit = {
    what: 'the disk',
    per_s: costs.fsyncs > 0 ? use * fsyncs * MOST_ROWS : Number.POSITIVE_INFINITY,
    shared: false,
    formula: `${use.toFixed(2)} x ${Math.round(fsyncs)} forced writes/s x ${MOST_ROWS} rows per commit`,
  }
  return [
    ...partsOf(costs, shape).map(({ what, us, of }) => ofProcessors(what, use, of, us)),
    ...(shape.store === 'sqlite' ? [disk] : []),
  ].toSorted((a, b) => a.per_s - b.per_s)
}

/** What the report shows about the machine of the database. */
export interface Seen {
  use: number
  cores: number
  /** Forced writes, and bytes written, per second. */
  fsyncs: number
  bytes: number
  /** Requests per second of the mix that the report measured. */
  measured: number
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
export function sharedLimits(costs: Costs, { use, cores, fsyncs, bytes, measured }: Seen): Limit[] {
  const disk = `${use.toFixed(2)} x ${Math.round(fsyncs)} forced writes/s / ${costs.fsyncs.toFixed(3)}`
  const derived = costs.fsyncs > 0 ? (use * fsyncs) / costs.fsyncs : Number.POSITIVE_INFINITY
  return [
    ofProcessors(`the database's ${cores} processors`, use, cores, costs.database_us),
    {
      what: "the database's disk",
      per_s: Math.max(derived, measured),
      formula:
        derived < measured
          ? `${Math.round(measured)}/s were measured on this disk: ${disk}, at least, because at higher rates more commits share a forced write`
          : `${disk}, at least: at higher rates, more commits share a forced write`,
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
