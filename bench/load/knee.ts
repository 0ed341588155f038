// The knee: the highest rate that meets the objective. It is found by increasing rates until one fails, and then by bisection.
import { CORES } from '../../src/telemetry/proc.ts'
import { FOREIGN, type Sample } from '../run/sample.ts'

/** Rates to try, as shares of the maximum rate of the closed loop. At the maximum rate, the queue of an open loop grows without bound. */
const LADDER = [0.25, 0.5, 0.65, 0.8, 0.9, 1]
/** Shares to try when the first rate fails. */
const BELOW = [0.1, 0.04]
const HALVINGS = 2
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
/** Maximum repetitions of a disturbed sample, and of all samples of a search. */
const REPEATS = { step: 2, climb: 6 }

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
  /** Samples that were disturbed and repeated. */
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
  let left = REPEATS.climb
  const tryOut = async (rate: number) => {
    let sample = await measure(rate)
    let why = disturbance(sample, sloMs)
    for (let i = 0; why && i < REPEATS.step && left > 0; i++, left--) {
      climb.void_steps = [...(climb.void_steps ?? []), sample]
      sample = await measure(rate, why)
      why = disturbance(sample, sloMs)
    }
    addStep(climb, sample, sloMs)
    return { kept: keeps(sample, sloMs), why }
  }
  // A disturbance must not decide: only a failure of the server itself ends the increase.
  for (const share of LADDER) {
    const { kept, why } = await tryOut(ceiling * share)
    if (!kept && !why) break
  }
  if (!climb.knee) for (const share of BELOW) if ((await tryOut(ceiling * share)).kept) break
  // Bisects between the knee and the next failed rate.
  for (let i = 0; i < HALVINGS && climb.knee; i++) {
    const next = nextFailed(climb, sloMs)
    if (!next) break
    await tryOut((rateOf(climb.knee) + rateOf(next)) / 2)
  }
}
