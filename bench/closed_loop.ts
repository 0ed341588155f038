// A load generator for work in which every request needs something of its own. Runs in a process of its own: each connection
// sends its next request when the last one was answered, and every latency is kept.
import { onPlan } from './children.ts'
import { Connection } from './connection.ts'
import { type Feed, type FeedPlan, openFeed, type Site } from './feeds.ts'
import { cpuMicros, type LoadResult, percentiles } from './usage.ts'

export interface LoopPlan extends Site {
  feed: FeedPlan
  /** The server, whose CPU time is read. */
  pid: number
  connections: number
  warmupSeconds: number
  seconds: number
}

/** Codes and proofs live for a minute: no more are prepared at once than are sent in a few seconds. */
const SLICE = { first: 400, most: 5000 }
/** Preparing is not measured, but must not take for ever. */
const LIMIT = (seconds: number) => 10 * seconds + 30

interface Tally {
  latencies: number[]
  errors: number
  firstError?: string
  seconds: number
  cpuMicros: number
}
const newTally = (): Tally => ({ latencies: [], errors: 0, seconds: 0, cpuMicros: 0 })

onPlan<LoopPlan>(async (plan) => {
  const connections = Array.from({ length: plan.connections }, () => new Connection(plan.base))
  const feed = openFeed(plan.feed, plan, connections)
  const endMs = performance.now() + LIMIT(plan.warmupSeconds + plan.seconds) * 1000
  const [warmup, tally] = [newTally(), newTally()]
  await sendSlices(plan.warmupSeconds, warmup, SLICE.first)
  await sendSlices(plan.seconds, tally, sliceFor(warmup, plan.seconds))
  for (const connection of connections) connection.close()
  const { latencies, ...counted } = tally
  return { successes: latencies.length, ...counted, ...percentiles(latencies) } satisfies LoadResult

  /** Slices: first requests are made ready, unmeasured; then they are sent on all connections, measured. */
  async function sendSlices(seconds: number, into: Tally, first: number): Promise<void> {
    for (let size = first; into.seconds < seconds && performance.now() < endMs; size = sliceFor(into, seconds)) {
      await feed.refill(size)
      const stopMs = performance.now() + (seconds - into.seconds) * 1000
      await measure(plan.pid, into, () => sendSlice(feed, connections, stopMs, into))
    }
  }
})

/** Sends until the time is over or one connection has nothing left: a slice does not run out on some of them only. */
async function sendSlice(feed: Feed, connections: readonly Connection[], stopMs: number, into: Tally): Promise<void> {
  let empty = false
  await Promise.all(
    connections.map(async (connection, number) => {
      while (!empty && performance.now() < stopMs) {
        const request = feed.next(number)
        if (request) await timed(into, feed, connection, number, request)
        else empty = true
      }
    }),
  )
}

/** As many as the rest of the time needs at the rate so far. */
const sliceFor = (tally: Tally, seconds: number): number => {
  const rate = tally.latencies.length / tally.seconds || SLICE.first
  return Math.ceil(Math.min(SLICE.most, Math.max(SLICE.first, rate * Math.max(seconds - tally.seconds, 0.1) * 1.2)))
}

/** Adds the time and the server's CPU time of some work. */
async function measure(pid: number, into: Tally, work: () => Promise<unknown>): Promise<void> {
  const [startedMs, cpu] = [performance.now(), cpuMicros(pid)]
  await work()
  into.seconds += (performance.now() - startedMs) / 1000
  into.cpuMicros += cpuMicros(pid) - cpu
}

/** Sends a request and counts its answer. */
async function timed(
  into: Tally,
  feed: Feed,
  connection: Connection,
  number: number,
  { form, proof }: { form: string; proof?: string },
): Promise<void> {
  const startedMs = performance.now()
  try {
    const { status, body } = await connection.post(feed.path, form, proof)
    const tookMs = performance.now() - startedMs
    if (status !== 200 || !feed.expected.test(body)) throw new Error(`${status} ${body.slice(0, 300)}`)
    feed.answered?.(number, body)
    into.latencies.push(tookMs)
  } catch (error) {
    into.errors++
    into.firstError ??= (error as Error).message
  }
}
