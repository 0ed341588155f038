// The load generator. It is a process of its own, so that it does not share an event loop with the process that measures. It prepares
// requests while the server is idle, sends them in a closed or an open loop, and measures the usage. Preparation is not measured.
import { onPlans } from '../run/children.ts'
import { addUsage, beginUsage, type Usage } from '../run/probe.ts'
import { counted, sampleOf } from '../run/sample.ts'
import { LoadConnection } from './connection.ts'
import { type Feed, isExpected, openFeed } from './feeds.ts'
import { type GeneratorPlan, type LoopPlan, limitSeconds } from './generator_plan.ts'
import { closedLoop, type LoadTally, newTally, openLoop, realPace as pace, type RequestSource } from './loops.ts'

/** Codes and proofs expire after a minute, so only the requests of a few seconds are prepared at once. */
const SLICE = { first: 400, most: 5000 }
const SPARE = 1.2

interface Opened {
  plan: GeneratorPlan
  connections: readonly LoadConnection[]
  feed: Feed
}
let opened: Opened | undefined
/** Answers per second so far, which determine how many requests are prepared. */
let expectedRate = SLICE.first

onPlans<GeneratorPlan | LoopPlan>(async (plan) => {
  if ('feed' in plan) {
    const bases = [plan.base, ...(plan.otherBases ?? [])]
    const connections = Array.from(
      { length: plan.connections },
      (_, number) => new LoadConnection(bases[number % bases.length] as string),
    )
    opened = { plan, connections, feed: openFeed(plan.feed, plan, connections) }
    return { ready: true }
  }
  if (!opened) throw new Error('the first plan must name the feed')
  return measure(opened, plan)
})

async function measure({ plan, feed, connections }: Opened, { seconds, rate }: LoopPlan) {
  const tally = newTally()
  let usage: Usage | undefined
  const endMs = pace.now() + limitSeconds(seconds) * 1000
  for (let slices = 0; seconds - tally.seconds > 0.01 && (slices === 0 || pace.now() < endMs); slices++) {
    const rest = seconds - tally.seconds
    await feed.refill(sliceFor(rate ?? expectedRate, rest))
    const end = await beginUsage(plan.probe)
    const before = { seconds: tally.seconds, answers: tally.latency.count }
    const sender: RequestSource = { connections: connections.length, send: (number) => send(feed, connections, number) }
    if (rate === undefined) await closedLoop(sender, rest, pace, tally)
    else
      await openLoop(sender, { rate, seconds: feed.isEndless ? rest : Math.min(rest, SLICE.most / rate) }, pace, tally)
    usage = addUsage(usage, await end())
    expectedRate = Math.max(SLICE.first, (tally.latency.count - before.answers) / (tally.seconds - before.seconds) || 0)
    if (givesUp(tally)) break
  }
  return sampleOf(counted(tally, rate), usage as Usage)
}

/** Whether to stop early, because the server only refuses. */
const givesUp = ({ errors, latency }: LoadTally) => errors > 1000 && errors > latency.count

const sliceFor = (rate: number, seconds: number): number =>
  Math.ceil(Math.min(SLICE.most, Math.max(SLICE.first, rate * Math.max(seconds, 0.1)) * SPARE))

function send(feed: Feed, connections: readonly LoadConnection[], number: number): Promise<void> | undefined {
  const shot = feed.next(number)
  const connection = connections[number]
  if (!shot || !connection) return undefined
  const { path, form, more, expected } = shot
  const answer = form === undefined ? connection.get(path, more) : connection.post(path, form, more)
  return answer.then((got) => {
    if (!isExpected(expected, got)) throw new Error(`${got.status} ${got.body.slice(0, 150).replace(/\s+/g, ' ')}`)
    shot.answered?.(got.body)
  })
}
