// Sends repeatable requests with an independent program, autocannon. Its results are more credible than those of the built-in loop,
// which sends requests that differ each time, and all of them where autocannon is not installed.
import { endedChildrenMicros } from '../../src/telemetry/proc.ts'
import { hasFile, inChild } from '../run/children.ts'
import { beginUsage, type ProbePlan } from '../run/probe.ts'
import { type Counted, type Sample, sampleOf } from '../run/sample.ts'

export const GENERATORS = ['autocannon', 'own'] as const
export type Generator = (typeof GENERATORS)[number]

export interface LoadPlan {
  url: string
  /** Form bodies, sent in rotation. */
  bodies: readonly string[]
  connections: number
  seconds: number
  /** The processors of the generator, as a list for taskset. */
  processors?: string
}

/** The generator of repeatable requests: autocannon in a checkout. */
export const bestGenerator = (): Generator => (hasFile('autocannon') ? 'autocannon' : 'own')

const LATE_SECONDS = 30

/** Runs a closed loop with autocannon. */
export async function runLoad(plan: LoadPlan, probe: ProbePlan): Promise<Sample> {
  const end = await beginUsage(probe, endedChildrenMicros)
  const count = await inChild<Counted>('autocannon', plan, plan.seconds + LATE_SECONDS, plan.processors)
  return sampleOf(count, await end())
}
