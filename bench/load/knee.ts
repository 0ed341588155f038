// The knee: the highest rate that keeps the objective. Up a ladder of rates until one fails, then halving what is between.
import { CORES } from '../../src/telemetry/proc.ts'
import { FOREIGN, type Sample } from '../run/sample.ts'

/** Shares of the ceiling. The closed loop's ceiling is no promise: an open loop at it has an endless queue. */
const LADDER = [0.25, 0.5, 0.65, 0.8, 0.9, 1]
/** Where even the first rung fails. */
const BELOW = [0.1, 0.04]
const HALVINGS = 2
/** How much longer than its requests came it may take to answer them, beside the objective of the last one. */
const LONGER = 1.05

/** Whether a rate was kept up: no errors, p99 within the objective (milliseconds), and no queue that grows: after the last request it is done within the objective. */
export function keeps({ errors, latency_ms, answers, seconds, offered_per_s }: Sample, sloMs: number): boolean {
  const camePerS = offered_per_s ?? 0
  const isDone = camePerS > 0 && seconds <= (LONGER * answers) / camePerS + sloMs / 1000
  return errors === 0 && (latency_ms.p99 ?? Number.POSITIVE_INFINITY) <= sloMs && isDone
}

/** Lateness of the load generator that is in the way: this much of the objective, and of the p99 that was seen. */
const LATE = { ofObjective: 0.5, ofLatency: 0.1 }
/** A step that was disturbed is tried so often again, and all steps of a climb together. */
const AGAIN = { step: 2, climb: 6 }

/**
 * What may have made a rate fail in place of the server: others who used the machine, or a load generator that came late
 * itself, as far as that is no trifle beside what was measured. Undefined where it did not fail, or by itself.
 */
function disturbance(sample: Sample, sloMs: number): string | undefined {
  if (keeps(sample, sloMs)) return undefined
  const { late_ms, latency_ms, busy } = sample
  const material = Math.max(LATE.ofObjective * sloMs, LATE.ofLatency * (latency_ms.p99 ?? Number.POSITIVE_INFINITY))
  if ((late_ms ?? 0) > material) return 'the load generator itself was late'
  return (busy.foreign ?? 0) > FOREIGN.said * CORES ? 'other programs used the machine' : undefined
}

/** What was measured on the way, in the order of the rates, and the knee so far. */
export interface Climb {
  ladder: Sample[]
  knee: Sample | null
  /** Why the server may keep more than the knee; undefined where the next rate failed by itself. */
  knee_at_least?: string
  /** Steps that were disturbed and taken again. */
  void_steps?: Sample[]
}

const rateOf = (sample: Sample | null): number => sample?.offered_per_s ?? 0

/** Adds a step: the knee is the highest rate that was kept, whenever it was tried. */
export function addStep(climb: Climb, sample: Sample, sloMs: number): void {
  climb.ladder.push(sample)
  climb.ladder.sort((a, b) => rateOf(a) - rateOf(b))
  if (keeps(sample, sloMs) && rateOf(sample) > rateOf(climb.knee)) climb.knee = sample
  const next = nextFailed(climb, sloMs)
  climb.knee_at_least = next ? disturbance(next, sloMs) : 'no rate was tried'
}

/** The lowest rate above the knee, which was not kept. */
const nextFailed = ({ ladder, knee }: Climb, sloMs: number): Sample | undefined =>
  ladder.find((sample) => rateOf(sample) > rateOf(knee) && !keeps(sample, sloMs))

/**
 * Climbs from a part of the ceiling (requests a second) with `measure`, which is told why it measures a rate again. What it
 * finds is in `climb` at once: it may be cut short.
 */
export async function findKnee(
  ceiling: number,
  sloMs: number,
  measure: (rate: number, again?: string) => Promise<Sample>,
  climb: Climb,
): Promise<void> {
  let left = AGAIN.climb
  const tryOut = async (rate: number) => {
    let sample = await measure(rate)
    let why = disturbance(sample, sloMs)
    for (let i = 0; why && i < AGAIN.step && left > 0; i++, left--) {
      climb.void_steps = [...(climb.void_steps ?? []), sample]
      sample = await measure(rate, why)
      why = disturbance(sample, sloMs)
    }
    addStep(climb, sample, sloMs)
    return { kept: keeps(sample, sloMs), why }
  }
  // One bad moment of a shared machine must not decide: only what the server itself did not keep is the end of the way up.
  for (const share of LADDER) {
    const { kept, why } = await tryOut(ceiling * share)
    if (!kept && !why) break
  }
  if (!climb.knee) for (const share of BELOW) if ((await tryOut(ceiling * share)).kept) break
  // What is between is looked at more closely.
  for (let i = 0; i < HALVINGS && climb.knee; i++) {
    const next = nextFailed(climb, sloMs)
    if (!next) break
    await tryOut((rateOf(climb.knee) + rateOf(next)) / 2)
  }
}
