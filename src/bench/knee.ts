// The knee: the highest rate that keeps the objective. Up a ladder of rates until one fails, then halving what is between.
import type { Sample } from './sample.ts'

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

/** What was measured on the way, in the order of the rates, and the knee so far. */
export interface Climb {
  ladder: Sample[]
  knee: Sample | null
}

/** Climbs from a part of the ceiling (requests a second) with `measure`. What it finds is in `climb` at once: it may be cut short. */
export async function findKnee(
  ceiling: number,
  sloMs: number,
  measure: (rate: number) => Promise<Sample>,
  climb: Climb,
): Promise<void> {
  let good = 0
  let bad: number | undefined
  const tryOut = async (share: number) => {
    const sample = await measure(ceiling * share)
    climb.ladder.push(sample)
    climb.ladder.sort((a, b) => (a.offered_per_s ?? 0) - (b.offered_per_s ?? 0))
    if (!keeps(sample, sloMs)) {
      bad = share
      return false
    }
    good = share
    climb.knee = sample
    return true
  }
  for (const share of LADDER) if (!(await tryOut(share))) break
  if (!climb.knee) for (const share of BELOW) if (await tryOut(share)) break
  // One bad moment of a shared machine must not decide: what is between is looked at more closely.
  for (let i = 0; i < HALVINGS && bad !== undefined && good > 0; i++) await tryOut((good + bad) / 2)
}
