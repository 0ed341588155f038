// The two ways to load a server. The closed loop asks again when it was answered, and finds the ceiling. The open loop asks
// when it is time, answered or not, as real clients do: a server that stalls delays everybody who comes meanwhile, and the
// closed loop, which waits politely, never sees them (coordinated omission).
import { setTimeout } from 'node:timers/promises'
import type { Histogram } from '../../src/lib/histogram.ts'
import { newLatencies } from '../statistics.ts'

/** Time as the loops see it; a test brings its own. */
export interface Pace {
  /** Milliseconds that only go forward. */
  now(): number
  sleep(ms: number): Promise<void>
}
export const realPace: Pace = { now: () => performance.now(), sleep: (ms) => setTimeout(ms) }

/** Something that sends on numbered connections, one request at a time on each. */
export interface RequestSource {
  connections: number
  /** Takes the next request of a connection and sends it: resolves when it was answered well, rejects otherwise. Undefined when none is ready. */
  send(connection: number): Promise<void> | undefined
}

export interface LoadTally {
  latency: Histogram
  errors: number
  firstError?: string
  /** Seconds that were measured. */
  seconds: number
  /** Open loop: requests that were due, and how late the generator itself was to see it. */
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

/** An open loop looks this often whether a request is due. Shorter is not to be had from a timer. */
const TICK_MS = 1
/** What was due and is not sent this long after the last request was due counts as an error. */
const PATIENCE_MS = 5000

/** Sends on every connection until the time is over or one has nothing left: a slice does not run out on some of them only. */
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
 * Sends `rate` requests a second at even distances. The latency of each counts from the moment it was due, also when no
 * connection was free then. Ends when the time is over or nothing is ready, and all that was sent is answered.
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
  giveUpMs = pace.now() + PATIENCE_MS
  while (busy.size > 0) await Promise.all(busy)
  // What nothing was prepared for was never due; what found no free connection for so long is a failure of the server.
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
