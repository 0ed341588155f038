// Sends repeatable requests with an independent program: wrk if it is installed, otherwise autocannon. Their results are more credible
// than the results of the built-in loop, which is used when neither program is installed.
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { CORES, endedChildrenMicros } from '../../src/telemetry/proc.ts'
import { hasFile, inChild, pinned, start, tempDir } from '../run/children.ts'
import { beginUsage, type ProbePlan } from '../run/probe.ts'
import { type Counted, type Sample, sampleOf } from '../run/sample.ts'

export const GENERATORS = ['wrk', 'autocannon', 'own'] as const
export type Generator = (typeof GENERATORS)[number]

export interface LoadPlan {
  url: string
  /** Form bodies, sent in rotation. */
  bodies: readonly string[]
  connections: number
  /** wrk runs for whole seconds. */
  seconds: number
  /** The processors of the generator, as a list for taskset. */
  processors?: string
}

/** The version line of wrk; undefined when it is not installed. */
export const wrkVersion = (): string | undefined =>
  /^wrk \S+/.exec(spawnSync('wrk', ['-v']).stdout?.toString() ?? '')?.[0]

/** The first installed generator. */
export const bestGenerator = (): Generator => (wrkVersion() ? 'wrk' : hasFile('autocannon') ? 'autocannon' : 'own')

const LATE_SECONDS = 30

/** Runs a closed loop with an independent generator. */
export async function runLoad(generator: 'wrk' | 'autocannon', plan: LoadPlan, probe: ProbePlan): Promise<Sample> {
  const end = await beginUsage(probe, endedChildrenMicros)
  const count =
    generator === 'wrk'
      ? await runWrk(plan)
      : await inChild<Counted>('autocannon', plan, plan.seconds + LATE_SECONDS, plan.processors)
  return sampleOf(count, await end())
}

// Requests are built once. done() prints the results as numbers: the text that wrk prints is rounded to three digits.
const SCRIPT = `
local requests, at = {}, 0
function init(args)
  wrk.headers["Content-Type"] = "application/x-www-form-urlencoded"
  for body in io.lines(args[1]) do requests[#requests + 1] = wrk.format("POST", nil, nil, body) end
end
function request()
  at = at % #requests + 1
  return requests[at]
end
function done(summary, latency)
  local e = summary.errors
  local p = function(q) return latency:percentile(q) end
  io.write(string.format('RESULT {"answers":%d,"statuses":%d,"broken":%d,"micros":%d,"latency":[%d,%d,%d,%d,%d]}\\n',
    summary.requests, e.status, e.connect + e.read + e.write + e.timeout, summary.duration,
    p(50), p(95), p(99), p(99.9), latency.max))
end
`

/** The output of done(). `answers` includes statuses above 399; times are microseconds. */
interface WrkResult {
  answers: number
  statuses: number
  broken: number
  micros: number
  latency: number[]
}

/** Threads of wrk. One is enough for the usual 64 connections, and leaves most of a small machine to the server. */
const threadsFor = (connections: number) => Math.max(1, Math.min(Math.floor(connections / 64), Math.floor(CORES / 4)))

async function runWrk({ url, bodies, connections, seconds, processors }: LoadPlan): Promise<Counted> {
  const folder = tempDir()
  const [script, list] = [path.join(folder, 'post.lua'), path.join(folder, 'bodies')]
  writeFileSync(script, SCRIPT)
  writeFileSync(list, bodies.join('\n'))
  const args = [
    `-t${threadsFor(connections)}`,
    `-c${connections}`,
    `-d${Math.ceil(seconds)}s`,
    '--latency',
    '-s',
    script,
    url,
    '--',
    list,
  ]
  const child = start(...pinned(processors, 'wrk', args), { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    output += chunk
  })
  const late = setTimeout(() => child.kill('SIGKILL'), (seconds + LATE_SECONDS) * 1000)
  await once(child, 'close')
  clearTimeout(late)
  const text = /^RESULT (.*)$/m.exec(output)?.[1]
  if (!text) throw new Error(`wrk printed no result: ${output}`)
  const { answers, statuses, broken, micros, latency } = JSON.parse(text) as WrkResult
  const [p50 = Number.NaN, p95 = Number.NaN, p99 = Number.NaN, p999 = Number.NaN, max = Number.NaN] = latency.map(
    (us) => us / 1000,
  )
  return {
    loop: 'closed',
    seconds: micros / 1e6,
    answers: answers - statuses,
    errors: statuses + broken,
    latency_ms: { p50, p95, p99, p999, max },
  }
}
