// What one instance can do: how busy its parts may be, as the knees show it, and the rate at which each of them is that busy.
import { type Costs, partShare } from './plan_costs.ts'
import { MOST_ROWS, type Sample } from './sample.ts'

/** The knee of a work, and its share of the requests (all together 1). */
export interface Knee {
  work: string
  share: number
  sample: Sample
}
export interface Use {
  /** How busy the busiest part may be before latencies leave the objective, as measured. */
  share: number
  /** The part that was so busy, and the work at whose knee it was. */
  part: string
  work: string
}
export interface Limit {
  what: string
  /** Requests a second at which it is used up to `use`. */
  per_s: number
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
export function useAtKnees(knees: readonly Knee[], cores: number): Use {
  const uses = knees.map(({ work, sample }) => ({ work, ...busiest(sample, cores) }))
  const least = uses.reduce((a, b) => (b.share < a.share ? b : a))
  return { ...least, share: Math.min(MOST_USE, least.share) }
}

function busiest(sample: Sample, cores: number): Omit<Use, 'work'> {
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

/** Requests a second of one instance at which each part is used up, the weakest first. */
export function limitsOf(
  costs: Costs,
  { cores, frontThreads, store }: Shape,
  { use, fsyncs }: { use: number; fsyncs: number },
): Limit[] {
  const cryptoThreads = Math.max(1, Math.min(16, cores - 1))
  const limit = (what: string, threads: number, us: number): Limit => ({
    what,
    per_s: us > 0 ? (use * threads * MEGA) / us : Number.POSITIVE_INFINITY,
    formula: `${use.toFixed(2)} x ${threads} / ${us.toFixed(1)} us`,
  })
  return [
    limit(frontThreads > 1 ? `the ${frontThreads} front threads` : 'the front thread', frontThreads, costs.front_us),
    limit(`the ${cryptoThreads} crypto thread${cryptoThreads > 1 ? 's' : ''}`, cryptoThreads, costs.crypto_us),
    ...(store === 'sqlite'
      ? [
          limit('the storage thread', 1, costs.store_us),
          {
            what: 'the disk',
            per_s: costs.fsyncs > 0 ? use * fsyncs * MOST_ROWS : Number.POSITIVE_INFINITY,
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
    ? [{ what: 'the measured knees', per_s, formula: '1 / sum(share / knee): nothing higher was measured' }, ...limits]
    : limits
}
