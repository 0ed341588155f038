// `npm run bench -- token`: measures the service and its peer in turns, and prints one table.
import { parseArgs } from 'node:util'
import { guard, inChild, stopAll } from './children.ts'
import type { LoopPlan } from './closed_loop.ts'
import { GENERATORS, type Generator, runLoad, wrkVersion } from './load.ts'
import { measureParts } from './parts.ts'
import { describeRun, type Row, table } from './report.ts'
import { type Load, subjects, type Work, works, worksOf } from './scenarios.ts'
import { startPeer, startService, type Target } from './server.ts'
import { type LoadResult, residentMiB } from './usage.ts'

const USAGE = `npm run bench -- SCENARIO ... [options]
scenarios: token (all works), ${subjects.join(', ')}, parts
  --connections N    connections of the load generator (64)
  --seconds N        how long each measurement lasts (10)
  --warmup N         seconds of load before each measurement (2)
  --rounds N         measurements of each server, in turns (2)
  --generator NAME   ${GENERATORS.join(' or ')}, for works whose requests can be repeated (wrk where installed)
  --cold             also with 20,000 distinct clients and empty caches
  --service-only     without the peer: for tuning, not for publishing
  --smoke            one round of a second each: shows that everything works, says nothing about speed
`
const COLD_CLIENTS = 20_000
/** A loop prepares its requests between the measured slices; this bounds all of it. */
const loopLimit = (seconds: number) => 12 * seconds + 60

export interface Settings {
  connections: number
  seconds: number
  warmup: number
  rounds: number
  generator: Generator
  cold: boolean
  serviceOnly: boolean
}

class UsageError extends Error {}

const print = (text: string) => process.stdout.write(`${text}\n`)
const progress = (text: string) => process.stderr.write(`${text}\n`)

function readArguments(): { scenarios: string[]; settings: Settings } {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      connections: { type: 'string', default: '64' },
      seconds: { type: 'string' },
      warmup: { type: 'string' },
      rounds: { type: 'string' },
      generator: { type: 'string', default: wrkVersion() ? 'wrk' : 'autocannon' },
      cold: { type: 'boolean', default: false },
      'service-only': { type: 'boolean', default: false },
      smoke: { type: 'boolean', default: false },
    },
  })
  const count = (name: string, text: string | undefined, fallback: number) => {
    const value = Number(text ?? fallback)
    if (!Number.isInteger(value) || value < 1 || value > 10_000)
      throw new UsageError(`--${name} must be a whole number`)
    return value
  }
  const generator = GENERATORS.find((each) => each === values.generator)
  if (!generator) throw new UsageError(`--generator is ${GENERATORS.join(' or ')}`)
  if (generator === 'wrk' && !wrkVersion()) throw new UsageError('wrk is not installed')
  const unknown = positionals.find((each) => each !== 'parts' && worksOf(each, true).length === 0)
  if (unknown || positionals.length === 0)
    throw new UsageError(unknown ? `${unknown} is no scenario` : 'no scenario is named')
  return {
    scenarios: positionals,
    settings: {
      connections: count('connections', values.connections, 64),
      seconds: count('seconds', values.seconds, values.smoke ? 1 : 10),
      warmup: count('warmup', values.warmup, values.smoke ? 1 : 2),
      rounds: count('rounds', values.rounds, values.smoke ? 1 : 2),
      generator,
      cold: values.cold,
      serviceOnly: values['service-only'],
    },
  }
}

/** One measurement of one server, warm-up before it. */
async function measure(work: Work, load: Load, target: Target, settings: Settings): Promise<LoadResult> {
  const { connections, seconds, warmup: warmupSeconds, generator } = settings
  if (load.kind === 'loop') {
    const plan: LoopPlan = { ...load.plan, pid: target.pid(), connections, seconds, warmupSeconds }
    return inChild<LoadResult>('closed_loop', plan, loopLimit(seconds + warmupSeconds))
  }
  if (work.cold) await target.restart()
  const plan = { url: target.base + load.path, connections }
  await runLoad(generator, { ...plan, bodies: load.warmup, seconds: warmupSeconds }, target.pid())
  return runLoad(generator, { ...plan, bodies: load.bodies, seconds }, target.pid())
}

/** All rounds of a work. Who begins changes from round to round, so that drift of the machine meets both. */
async function measureWork(work: Work, all: readonly Target[], settings: Settings): Promise<Row> {
  const targets = work.gateway ? all.filter(({ gateway }) => gateway) : all
  const loads = new Map<Target, Load>()
  for (const target of targets) loads.set(target, await work.load(target))
  const results = new Map<Target, LoadResult[]>(targets.map((target) => [target, []]))
  for (let round = 0; round < settings.rounds; round++)
    for (const target of round % 2 ? targets.toReversed() : targets) {
      const result = await measure(work, loads.get(target) as Load, target, settings)
      results.get(target)?.push(result)
      progress(
        `${work.name}, round ${round + 1}, ${target.name}: ${Math.round(result.successes / result.seconds)}/s` +
          (result.errors ? `, ${result.errors} errors (${result.firstError ?? 'not told'})` : ''),
      )
    }
  return {
    work: work.name,
    hasNoPeer: targets.length < all.length,
    servers: targets.map((target) => ({ name: target.name, results: results.get(target) ?? [] })),
  }
}

async function measureServers(chosen: readonly Work[], settings: Settings): Promise<void> {
  const options = { coldClients: chosen.some((work) => work.cold) ? COLD_CLIENTS : 0 }
  progress('starting the servers, registering clients')
  const service = await startService(options)
  const targets = settings.serviceOnly ? [service] : [service, await startPeer(options)]
  const resident = () => targets.map(({ name, pid }) => `${name} ${Math.round(residentMiB(pid()))} MiB`).join(', ')
  const before = resident()
  const rows: Row[] = []
  for (const work of chosen) rows.push(await measureWork(work, targets, settings))
  print(describeRun(settings))
  print(`memory before: ${before}; after: ${resident()}\n`)
  print(table(rows))
  const failed = rows.some(({ servers }) => servers.some(({ results }) => results.some(({ errors }) => errors > 0)))
  if (failed) progress(`\nwhat the service logged last:\n${service.log()}`)
}

async function run(scenarios: readonly string[], settings: Settings): Promise<void> {
  const chosen = works.filter((work) => scenarios.some((name) => worksOf(name, settings.cold).includes(work)))
  if (chosen.length > 0) await measureServers(chosen, settings)
  if (scenarios.includes('parts')) print(`\n${await measureParts()}`)
}

try {
  const { scenarios, settings } = readArguments()
  guard()
  await run(scenarios, settings)
} catch (error) {
  const faulty = error instanceof UsageError || (error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS')
  progress(faulty ? `${(error as Error).message}\n\n${USAGE}` : `${(error as Error).stack}`)
  process.exitCode = 1
} finally {
  await stopAll()
}
