// The knee: the highest rate that meets the objective. It is found by increasing rates until two in a row fail, and then by bisection.
// A stall of the host raises p99 of a few seconds at any rate, so a rate counts as failed only when it failed twice.
import { CORES } from '../../src/telemetry/proc.ts'
import { FOREIGN, type Sample } from '../run/sample.ts'

/** Rates to try, as shares of the maximum rate of the closed loop. At the maximum rate, the queue of an open loop grows without bound. */
const LADDER = [0.25, 0.5, 0.65, 0.8, 0.9, 1]
/** Shares to try when the first rates fail. */
const BELOW = [0.1, 0.04]
/** Failed rates in a row that end the increase. One alone may be the result of stalls. */
const FAILURES = 2
/** Bisection ends when the next failed rate is at most this share above the knee. */
const PRECISION = 0.06
const HALVINGS = 3
/** Maximum ratio of the total time to the time in which the requests were due. The objective of the last request is added. */
const LONGER = 1.05

/**
 * Whether a sample meets the objective (milliseconds): no errors, p99 within the objective, and no growing queue. The queue does not grow
 * if the last request is answered within the objective.
 */
export function keeps({ errors, latency_ms, answers, seconds, offered_per_s }: Sample, sloMs: number): boolean {
  const camePerS = offered_per_s ?? 0
  const isDone = camePerS > 0 && seconds <= (LONGER * answers) / camePerS + sloMs / 1000
  return errors === 0 && (latency_ms.p99 ?? Number.POSITIVE_INFINITY) <= sloMs && isDone
}

/** Lateness of the load generator that counts as a disturbance: this share of the objective, and of the measured p99. */
const LATE = { ofObjective: 0.5, ofLatency: 0.1 }
/** Maximum measurements of a rate, and repetitions of a search. */
const MOST = { samples: 3, repeats: 15 }

/**
 * Why a rate may have failed for another reason than the server: other programs used the machine, or the load generator was late by a
 * material amount. Undefined when the rate did not fail, or when the server was the cause.
 */
function disturbance(sample: Sample, sloMs: number): string | undefined {
  if (keeps(sample, sloMs)) return undefined
  const { late_ms, latency_ms, busy } = sample
  const material = Math.max(LATE.ofObjective * sloMs, LATE.ofLatency * (latency_ms.p99 ?? Number.POSITIVE_INFINITY))
  if ((late_ms ?? 0) > material) return 'the load generator itself was late'
  return (busy.foreign ?? 0) > FOREIGN.said * CORES ? 'other programs used the machine' : undefined
}

/** The samples so far, in the order of the rates, and the knee so far. */
export interface Climb {
  ladder: Sample[]
  knee: Sample | null
  /** Why the true knee may be higher; undefined when the server was the cause of the next failure. */
  knee_at_least?: string
  /** Samples that do not count: they were disturbed, or other samples at the same rate outvoted them. */
  void_steps?: Sample[]
}

const rateOf = (sample: Sample | null): number => sample?.offered_per_s ?? 0

/** Adds a sample. The knee is the highest rate that met the objective, in whatever order the rates were tried. */
export function addStep(climb: Climb, sample: Sample, sloMs: number): void {
  climb.ladder.push(sample)
  climb.ladder.sort((a, b) => rateOf(a) - rateOf(b))
  if (keeps(sample, sloMs) && rateOf(sample) > rateOf(climb.knee)) climb.knee = sample
  const next = nextFailed(climb, sloMs)
  climb.knee_at_least = next ? disturbance(next, sloMs) : 'no rate was tried'
}

/** The lowest failed rate above the knee. */
const nextFailed = ({ ladder, knee }: Climb, sloMs: number): Sample | undefined =>
  ladder.find((sample) => rateOf(sample) > rateOf(knee) && !keeps(sample, sloMs))

/** The sample that counts of several at one rate: the one with the middle p99 of those that were not disturbed; of two, the worse one. */
function middle(samples: readonly Sample[], sloMs: number): Sample {
  const clean = samples.filter((sample) => !disturbance(sample, sloMs))
  // A growing queue fails a sample whatever its p99 is.
  const badness = (sample: Sample) =>
    (sample.latency_ms.p99 ?? Number.POSITIVE_INFINITY) + (keeps(sample, sloMs) ? 0 : 1e9)
  const sorted = (clean.length > 0 ? clean : samples).toSorted((a, b) => badness(a) - badness(b))
  return sorted[Math.floor(sorted.length / 2)] as Sample
}

/** Whether further samples at a rate cannot change the result, or are not worth it: the first one met the objective, or two agree. */
function isDecided(samples: readonly Sample[], sloMs: number): boolean {
  const clean = samples.filter((sample) => !disturbance(sample, sloMs))
  const kept = clean.filter((sample) => keeps(sample, sloMs)).length
  return kept === 2 || clean.length - kept === 2 || (kept === 1 && clean.length === 1)
}

/**
 * Searches the knee, starting at a share of the maximum rate (requests per second). `measure` receives the reason when it repeats a
 * rate. Results are added to `climb` at once, because the search may be interrupted.
 */
export async function findKnee(
  ceiling: number,
  sloMs: number,
  measure: (rate: number, again?: string) => Promise<Sample>,
  climb: Climb,
): Promise<void> {
  let left = MOST.repeats
  const tryOut = async (rate: number) => {
    const samples = [await measure(rate)]
    while (!isDecided(samples, sloMs) && samples.length < MOST.samples && left-- > 0)
      samples.push(await measure(rate, disturbance(samples.at(-1) as Sample, sloMs) ?? 'one failure may be a stall'))
    const counts = middle(samples, sloMs)
    const others = samples.filter((sample) => sample !== counts)
    if (others.length > 0) climb.void_steps = [...(climb.void_steps ?? []), ...others]
    addStep(climb, counts, sloMs)
    // A disturbance must not decide: only a failure of the server itself counts.
    return keeps(counts, sloMs) || disturbance(counts, sloMs) !== undefined
  }
  let failures = 0
  for (const share of LADDER) {
    failures = (await tryOut(ceiling * share)) ? 0 : failures + 1
    if (failures === FAILURES) break
  }
  for (const share of BELOW) if (!climb.knee) await tryOut(ceiling * share)
  // Bisects between the knee and the next failed rate.
  for (let i = 0; i < HALVINGS && climb.knee; i++) {
    const next = nextFailed(climb, sloMs)
    if (!next || rateOf(next) <= (1 + PRECISION) * rateOf(climb.knee)) break
    await tryOut((rateOf(climb.knee) + rateOf(next)) / 2)
  }
}
