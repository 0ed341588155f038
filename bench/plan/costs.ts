// The cost of a request. It falls with the utilisation of a server, because more requests share a batch, a wake-up and a commit.
// Between measured rates, costs are interpolated linearly.
import { keeps } from '../load/knee.ts'
import type { Report } from '../report/report.ts'
import type { Sample } from '../run/sample.ts'
import type { PlanInput } from './input.ts'

/** The cost of one request in microseconds of CPU time, bytes and forced writes. */
export interface Costs {
  front_us: number
  crypto_us: number
  store_us: number
  total_us: number
  database_us: number
  database_bytes: number
  written_bytes: number
  fsyncs: number
}
/** A workload of a mix: its share of the requests (the sum is 1), and the samples up to the knee, lowest rate first. */
export interface Part {
  share: number
  samples: readonly Sample[]
}

/** The samples of a workload that met the objective, the knee last. Throws when there are none. */
export function keptOf(
  report: Report,
  work: string,
  { store, alg, sloMs }: Pick<PlanInput, 'store' | 'alg' | 'sloMs'>,
): Part['samples'] {
  const found = report.results.filter(
    (each) => each.server === 'service' && each.work === work && each.store === store && each.alg === alg,
  )
  const result = found.find(({ failed }) => !failed)
  if (!result) {
    const failed = found[0]?.failed
    const why = failed ? ` (it could not be measured: ${failed})` : report.partial ? ' (its run was interrupted)' : ''
    throw new Error(`the report has no ${work} with ${store} and ${alg}${why}: measure it with service bench`)
  }
  if (result.ladder.length === 0) {
    const why = report.partial
      ? 'the run was interrupted before it was measured'
      : 'it was measured with --no-open: measure without it'
    throw new Error(`the report has only the maximum rate of ${work}, and no knee: ${why}`)
  }
  const kept = result.ladder.filter((sample) => keeps(sample, sloMs))
  if (kept.length === 0) throw new Error(`no rate of ${work} in the report kept p99 within ${sloMs} ms`)
  return kept
}

/** Bytes written to storage per request: to the write-ahead log of PostgreSQL, or by the service. */
export const sampledBytes = ({ log_bytes, written_bytes }: Sample): number => log_bytes ?? written_bytes ?? 0

const costsOf = (sample: Sample): Costs => ({
  front_us: sample.cpu_us.front ?? 0,
  crypto_us: sample.cpu_us.crypto ?? 0,
  store_us: sample.cpu_us.store ?? 0,
  total_us: sample.cpu_us.total ?? 0,
  database_us: sample.cpu_us.database ?? 0,
  database_bytes: sample.database_bytes ?? 0,
  written_bytes: sampledBytes(sample),
  fsyncs: sample.fsyncs ?? 0,
})

/** The cost of a mix: the sum of share x cost. */
export const combinedCosts = (parts: readonly { share: number; costs: Costs }[]): Costs => {
  const names = Object.keys(parts[0]?.costs ?? {}) as (keyof Costs)[]
  const sum = (name: keyof Costs) => parts.reduce((total, { share, costs }) => total + share * costs[name], 0)
  return Object.fromEntries(names.map((name) => [name, sum(name)])) as unknown as Costs
}

/** The cost of a request of each workload at its knee. */
export const costsAtKnees = <P extends Part>(parts: readonly P[]): (P & { costs: Costs })[] =>
  parts.map((part) => ({ ...part, costs: costsOf(part.samples.at(-1) as Sample) }))

/** The cost at a given utilisation of the front thread. */
const costsAtUse = <P extends Part>(parts: readonly P[], use: number): (P & { costs: Costs })[] =>
  parts.map((part) => ({ ...part, costs: between(part.samples, use) }))

function between(samples: readonly Sample[], use: number): Costs {
  const useOf = ({ busy }: Sample) => busy.front ?? 0
  const above = samples.findIndex((sample) => useOf(sample) >= use)
  const [low, high] = [samples[above - 1], samples.at(above)] as [Sample | undefined, Sample]
  if (!low) return costsOf(above < 0 ? (samples.at(-1) as Sample) : high)
  const share = (use - useOf(low)) / (useOf(high) - useOf(low))
  return combinedCosts([
    { share: 1 - share, costs: costsOf(low) },
    { share, costs: costsOf(high) },
  ])
}

const STEPS = 30
/**
 * The cost of a request of each workload at a rate of the mix (requests per second). The utilisation of the front thread depends on
 * the cost, and the cost on the utilisation: bisection finds the value at which both agree.
 */
export function costsAtRate<P extends Part>(parts: readonly P[], rate: number): (P & { costs: Costs })[] {
  let [low, high] = [0, 1]
  for (let step = 0; step < STEPS; step++) {
    const use = (low + high) / 2
    if ((rate * combinedCosts(costsAtUse(parts, use)).front_us) / 1e6 > use) low = use
    else high = use
  }
  return costsAtUse(parts, (low + high) / 2)
}
