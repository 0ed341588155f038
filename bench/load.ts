// Load of prepared POST bodies in rotation, by wrk where it is installed, else by autocannon.
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { inChild, start, tempDir } from './children.ts'
import { cpuMicros, type LoadResult } from './usage.ts'

export const GENERATORS = ['autocannon', 'wrk'] as const
export type Generator = (typeof GENERATORS)[number]

export interface LoadPlan {
  url: string
  /** Form bodies, sent one after the other and from the start again. */
  bodies: readonly string[]
  connections: number
  /** wrk runs for whole seconds. */
  seconds: number
}
type Run = (plan: LoadPlan) => Promise<Omit<LoadResult, 'cpuMicros'>>

/** The version line of wrk, or undefined where it is not installed. */
export const wrkVersion = (): string | undefined =>
  /^wrk \S+/.exec(spawnSync('wrk', ['-v']).stdout?.toString() ?? '')?.[0]

const LATE_SECONDS = 30
const runners: Record<Generator, Run> = {
  autocannon: (plan) => inChild('autocannon', plan, plan.seconds + LATE_SECONDS),
  wrk: runWrk,
}

/** Runs a load, and reads the CPU time of the server `pid` around it. */
export async function runLoad(generator: Generator, plan: LoadPlan, pid: number): Promise<LoadResult> {
  const before = cpuMicros(pid)
  const result = await runners[generator](plan)
  return { ...result, cpuMicros: cpuMicros(pid) - before }
}

// Requests are built once. The figures come out as numbers in done(): the text that wrk prints is rounded to three digits.
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
  io.write(string.format('RESULT {"answers":%d,"statuses":%d,"broken":%d,"micros":%d,"p50":%d,"p99":%d}\\n',
    summary.requests, e.status, e.connect + e.read + e.write + e.timeout, summary.duration,
    latency:percentile(50), latency:percentile(99)))
end
`

/** What done() of the script prints. Statuses above 399 are in \`answers\` too; times are microseconds. */
interface WrkResult {
  answers: number
  statuses: number
  broken: number
  micros: number
  p50: number
  p99: number
}

async function runWrk({ url, bodies, connections, seconds }: LoadPlan): Promise<Omit<LoadResult, 'cpuMicros'>> {
  const folder = tempDir()
  const [script, list] = [path.join(folder, 'post.lua'), path.join(folder, 'bodies')]
  writeFileSync(script, SCRIPT)
  writeFileSync(list, bodies.join('\n'))
  const args = ['-t1', `-c${connections}`, `-d${Math.ceil(seconds)}s`, '--latency', '-s', script, url, '--', list]
  const child = start('wrk', args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    output += chunk
  })
  const late = setTimeout(() => child.kill('SIGKILL'), (seconds + LATE_SECONDS) * 1000)
  await once(child, 'close')
  clearTimeout(late)
  const text = /^RESULT (.*)$/m.exec(output)?.[1]
  if (!text) throw new Error(`wrk printed no result: ${output}`)
  const { answers, statuses, broken, micros, p50, p99 } = JSON.parse(text) as WrkResult
  return {
    successes: answers - statuses,
    errors: statuses + broken,
    seconds: micros / 1e6,
    p50Ms: p50 / 1000,
    p99Ms: p99 / 1000,
  }
}
