// The messages to the load generator. They are in a file of their own because importing the generator starts it.

import type { ProbePlan } from '../run/probe.ts'
import type { FeedPlan, Site } from './feeds.ts'

/** The first message: the server and the feed. */
export interface GeneratorPlan extends Site {
  feed: FeedPlan
  /** Connections are distributed over the base and these. */
  otherBases?: readonly string[]
  probe: ProbePlan
  connections: number
}
/** Further messages: one measurement each, answered with a Sample. */
export interface LoopPlan {
  seconds: number
  /** Requests per second of an open loop. Without it, the loop is closed. */
  rate?: number
}

/** Timeout of a measurement, including the preparation of its requests. */
export const limitSeconds = (seconds: number): number => 10 * seconds + 30
