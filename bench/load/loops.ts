// The two load loops. The closed loop sends the next request when the last one was answered, and finds the maximum rate. The open
// loop sends requests at a fixed rate, answered or not, as real clients do. When a server stalls, the open loop measures the delay of
// all requests that become due meanwhile; the closed loop does not send them (coordinated omission).
import { setTimeout } from 'node:timers/promises'
import type { Histogram } from '../../src/lib/histogram.ts'
import { newLatencies } from '../statistics.ts'

/** The clock of the loops. Tests replace it. */
export interface Pace {
  /** A monotonic clock in milliseconds. */
  now(): number
  sleep(ms: number): Promise<void>
}
export const realPace: Pace = { now: () => performance.now(), sleep: (ms) => setTimeout(ms) }

/** Sends requests on numbered connections, one request at a time on each. */
export interface RequestSource {
  connections: number
  /** Sends the next request of a connection. Resolves when the answer is as expected, rejects otherwise. Undefined when no request is ready. */
  send(connection: number): Promise<void> | undefined
}

export interface LoadTally {
  latency: Histogram
  errors: number
  firstError?: string
  /** Measured seconds. */
  seconds: number
  /** Open loop: requests that were due, and the lateness of the generator itself. */
  due: number
  lateness: Histogram
}
export const newTally = (): LoadTally => ({
  latency: newLatencies(),
  errors: 0,
  seconds: 0,
  due: 0,
  lateness: newLatencies(),
})

/** Interval at which the open loop checks for due requests: the shortest of a timer. */
const TICK_MS = 1
/** A due request that is not sent within this time after the last one was due counts as an error. */
const SEND_TIMEOUT_MS = 5000

/** Sends on every connection until the time is over or one of them has no request left, so that all connections stop together. */
export async function closedLoop(sender: RequestSource, seconds: number, pace: Pace, into: LoadTally): Promise<void> {
  const startedMs = pace.now()
  const stopMs = startedMs + seconds * 1000
  let empty = false
  const run = async (connection: number) => {
    while (!empty && pace.now() < stopMs) {
      const sentMs = pace.now()
      const answer = sender.send(connection)
      if (!answer) empty = true
      else await settle(answer, () => pace.now() - sentMs, into)
    }
  }
  await Promise.all(Array.from({ length: sender.connections }, (_, connection) => run(connection)))
  into.seconds += (pace.now() - startedMs) / 1000
}

/**
 * Sends `rate` requests per second at even intervals. The latency of each is measured from the time when it was due, even when no
 * connection was free then. Ends when the time is over or no request is ready, and all sent requests are answered.
 */
export async function openLoop(
  sender: RequestSource,
  { rate, seconds }: { rate: number; seconds: number },
  pace: Pace,
  into: LoadTally,
): Promise<void> {
  const startedMs = pace.now()
  const most = Math.round(rate * seconds)
  const dueMs = (number: number) => startedMs + (number * 1000) / rate
  const free = Array.from({ length: sender.connections }, (_, connection) => connection)
  const busy = new Set<Promise<void>>()
  let [next, waiting, empty] = [0, 0, false]
  let giveUpMs = Number.POSITIVE_INFINITY

  const sendWaiting = () => {
    for (let connection = free.shift(); connection !== undefined; connection = free.shift()) {
      const wanted = waiting < next && !empty && pace.now() < giveUpMs
      const answer = wanted ? sender.send(connection) : undefined
      if (!answer) {
        if (wanted) empty = true
        free.unshift(connection)
        return
      }
      const [from, at] = [dueMs(waiting++), connection]
      const done = settle(answer, () => pace.now() - from, into).then(() => {
        busy.delete(done)
        free.push(at)
        sendWaiting()
      })
      busy.add(done)
    }
  }
  while (next < most && !empty) {
    for (const nowMs = pace.now(); next < most && dueMs(next) <= nowMs; next++)
      into.lateness.record(nowMs - dueMs(next))
    sendWaiting()
    if (next < most && !empty) await pace.sleep(Math.max(TICK_MS, dueMs(next) - pace.now()))
  }
  const restMs = startedMs + seconds * 1000 - pace.now()
  if (!empty && restMs > 0) await pace.sleep(restMs)
  giveUpMs = pace.now() + SEND_TIMEOUT_MS
  while (busy.size > 0) await Promise.all(busy)
  // Requests that were not prepared were never due. Due requests without a free connection are a failure of the server.
  const unsent = empty ? 0 : next - waiting
  into.errors += unsent
  if (unsent > 0) into.firstError ??= 'requests that were due found no free connection'
  into.due += empty ? waiting : next
  into.seconds += (pace.now() - startedMs) / 1000
}

async function settle(answer: Promise<void>, tookMs: () => number, into: LoadTally): Promise<void> {
  try {
    await answer
    into.latency.record(tookMs())
  } catch (error) {
    into.errors++
    into.firstError ??= (error as Error).message
  }
}
