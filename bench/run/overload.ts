// The overload scenario: served and refused requests at ten times the capacity, and the recovery afterwards.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Env } from '../../src/config/env.ts'
import { runLoad } from '../load/load.ts'
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

/** Number of connections for the maximum rate and for the overload. Each connection sends the next request as soon as one is answered. */
const [NORMAL, OVERLOAD] = [64, 640]
/** Requests per second of the probe: a small steady load whose latency is measured during the overload. */
const PROBE_RATE = 100
const AFTER_MS = 2000
/** The start of the overload is measured separately, because more requests of a burst are admitted than of a lasting overload. */
const ONSET_MS = 1000

/** Measures with each signature algorithm. Returns the table. */
export async function measureOverload(seconds: number, env: Env, say: (text: string) => void): Promise<string> {
  const rows = [HEAD]
  for (const alg of ALGS) {
    say(`${alg}: ${OVERLOAD} connections for ${seconds} s`)
    try {
      const [target] = await startService({ clients: { hot: HOT_CLIENTS, cold: 0 }, alg, env: withoutDatabase(env) })
      rows.push([alg, ...(await measureOne(target, seconds))])
    } finally {
      await stopAll()
    }
  }
  return aligned(rows, new Set([0]))
}

const HEAD = [
  'signature',
  'max/s',
  'requested/s',
  'served/s',
  'served p50 ms',
  'p99 ms',
  'probe late p99 ms',
  'p99 ms, first second',
  'metadata p99 ms',
  'metadata refused',
  'MiB before',
  'peak',
  'p99 ms after',
  'refused after',
]

async function measureOne(target: BenchTarget, seconds: number): Promise<string[]> {
  const before = await load(target, NORMAL, seconds)
  const overloaded = load(target, OVERLOAD, ONSET_MS / 1000 + seconds)
  const documents = beginTraffic(target, PROBE_RATE, (connection, count) =>
    connection.get(count % 2 ? (target.paths.metadata ?? '/') : '/health'),
  )
  const onset = beginTraffic(target, PROBE_RATE, tokenRequest(target))
  await sleep(ONSET_MS)
  const first = await onset()
  const tokens = beginTraffic(target, PROBE_RATE, tokenRequest(target))
  const during = await overloaded
  const [served, found] = [await tokens(), await documents()]
  served.latency.add(first.latency.contents())
  served.lateness.add(first.lateness.contents())
  const end = beginTraffic(target, PROBE_RATE, tokenRequest(target))
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

/** A closed loop of client_credentials requests. */
async function load(target: BenchTarget, connections: number, seconds: number): Promise<Sample> {
  const [work] = works
  const feed = work && (await loadOf(work, target))?.feed
  if (feed?.kind !== 'same') throw new Error('client_credentials requests must be repeatable')
  return runLoad({ url: target.base + feed.path, bodies: feed.forms, connections, seconds }, target.probe())
}
