// Far more than there is room for: what those get who are admitted, who is refused, and how soon it is over.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Env } from '../../src/config/env.ts'
import { bestGenerator, runLoad } from '../load/load.ts'
import type { LoadTally } from '../load/loops.ts'
import { type BenchTarget, HOT_CLIENTS } from '../load/target.ts'
import { beginTraffic, tokenRequest } from '../load/traffic.ts'
import { aligned } from '../report/table.ts'
import { percentilesOf } from '../statistics.ts'
import { stopAll } from './children.ts'
import { withoutDatabase } from './databases.ts'
import type { Sample } from './sample.ts'
import { loadOf, works } from './scenarios.ts'
import { startService } from './service.ts'
import { ALGS } from './settings.ts'

/** Connections of the ceiling, and of a crowd ten times as large: all of them ask again as soon as they are answered. */
const [FEW, MANY] = [64, 640]
/** What is watched meanwhile: a few that ask at a steady rate. */
const RATE = 100
const AFTER_MS = 2000
/** A burst is let in further than a crowd: what that does is seen apart, too. */
const ONSET_MS = 1000

/** Measures it with either signature. Returns the table. */
export async function measureOverload(seconds: number, env: Env, say: (text: string) => void): Promise<string> {
  const rows = [HEAD]
  for (const alg of ALGS) {
    say(`${alg}: a crowd of ${MANY} for ${seconds} s`)
    try {
      const [target] = await startService({ clients: { hot: HOT_CLIENTS, cold: 0 }, alg, env: withoutDatabase(env) })
      rows.push([alg, ...(await crowd(target, seconds))])
    } finally {
      await stopAll()
    }
  }
  return aligned(rows, new Set([0]))
}

const HEAD = [
  'signature',
  'ceiling/s',
  'asked/s',
  'served/s',
  'served p50 ms',
  'p99 ms',
  'watcher late p99 ms',
  'p99 ms of the first second',
  'documents p99 ms',
  'refused documents',
  'MiB before',
  'peak',
  'p99 ms after',
  'refused after',
]

async function crowd(target: BenchTarget, seconds: number): Promise<string[]> {
  const before = await load(target, FEW, seconds)
  const crowded = load(target, MANY, ONSET_MS / 1000 + seconds)
  const documents = beginTraffic(target, RATE, (connection, count) =>
    connection.get(count % 2 ? (target.paths.metadata ?? '/') : '/health'),
  )
  const onset = beginTraffic(target, RATE, tokenRequest(target))
  await sleep(ONSET_MS)
  const first = await onset()
  const tokens = beginTraffic(target, RATE, tokenRequest(target))
  const during = await crowded
  const [served, found] = [await tokens(), await documents()]
  served.latency.add(first.latency.contents())
  served.lateness.add(first.lateness.contents())
  const end = beginTraffic(target, RATE, tokenRequest(target))
  await sleep(AFTER_MS)
  const after = await end()
  const p99 = ({ latency }: LoadTally) => percentilesOf(latency).p99.toFixed(1)
  return [
    whole(before.per_s),
    whole(during.per_s + during.errors / during.seconds),
    whole(during.per_s),
    percentilesOf(served.latency).p50.toFixed(1),
    p99(served),
    percentilesOf(served.lateness).p99.toFixed(1),
    p99(first),
    p99(found),
    String(found.errors),
    whole(before.memory_mib.now),
    whole(during.memory_mib.peak),
    p99(after),
    String(after.errors),
  ]
}

const whole = (figure: number | null) => (figure === null ? '?' : String(Math.round(figure)))

/** A closed loop of machine tokens. */
async function load(target: BenchTarget, connections: number, seconds: number): Promise<Sample> {
  const generator = bestGenerator()
  const [work] = works
  const feed = work && (await loadOf(work, target))?.feed
  if (generator === 'own' || feed?.kind !== 'same') throw new Error('this needs wrk or autocannon')
  return runLoad(generator, { url: target.base + feed.path, bodies: feed.forms, connections, seconds }, target.probe())
}
