// What the load generator is told. Apart from it: whoever imports the generator becomes one.

import type { ProbePlan } from '../run/probe.ts'
import type { FeedPlan, Site } from './feeds.ts'

/** Sent first: what to load. */
export interface GeneratorPlan extends Site {
  feed: FeedPlan
  /** Connections lead to the base and to these in turn. */
  otherBases?: readonly string[]
  probe: ProbePlan
  connections: number
}
/** Sent then, as often as wanted; each is answered with a Sample. */
export interface LoopPlan {
  seconds: number
  /** Requests a second, due whether answered or not; without it every connection waits for its answer. */
  rate?: number
}

/** Preparing is not measured, but must not take for ever. */
export const limitSeconds = (seconds: number): number => 10 * seconds + 30
