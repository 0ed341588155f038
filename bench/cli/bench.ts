// `service bench`: measures the service on this machine.
import type { Command } from 'commander'
import { print, UsageError } from '../../src/cli/output.ts'
import type { GlobalOptions } from '../../src/cli/tree.ts'
import type { Env } from '../../src/config/env.ts'
import { CORES } from '../../src/telemetry/proc.ts'
import { bestGenerator, GENERATORS } from '../load/load.ts'
import { HOT_CLIENTS } from '../load/target.ts'
import { type ForeignPeer, PEER_SYNTAX, parsePeer, peerFaults } from '../peers/peers.ts'
import { compareReports, renderComparison } from '../report/compare.ts'
import { readReport } from '../report/report.ts'
import { hasFile, killAll } from '../run/children.ts'
import { databaseFaults } from '../run/databases.ts'
import { LARGE, measureOperators, SMALL } from '../run/operators.ts'
import { measureOverload } from '../run/overload.ts'
import { measureParts } from '../run/parts.ts'
import { openProgress } from '../run/progress.ts'
import { bench } from '../run/run.ts'
import { parseMix, subjects, worksOf } from '../run/scenarios.ts'
import { ALGS, type AlgName, type Settings, SHARED, STORES, type StoreName } from '../run/settings.ts'
import { hasTaskset, SCALING, shapesFor } from '../run/shapes.ts'
import { numberIn, reading, sloFlag, wordsOf } from './flags.ts'
import { finish, reportFiles } from './report.ts'

const ECHO_MS = 1000
const write = (text: string) => process.stdout.write(`${text}\n`)

const SCALE: Readonly<Record<string, number>> = { k: 1e3, M: 1e6 }
const rows = reading((text) =>
  text.split(',').map((part) => {
    const [, count, unit = ''] = /^(\d+)([kM]?)$/.exec(part.trim()) ?? []
    if (!count) throw new Error('Expected numbers of rows such as 0,1M.')
    return Number(count) * (SCALE[unit] ?? 1)
  }),
)
interface BenchFlags {
  connections: number
  clients: number
  seconds?: number
  warmup?: number
  rounds?: number
  generator?: (typeof GENERATORS)[number][]
  cold: boolean
  store: StoreName[]
  alg: AlgName[]
  fill: number[]
  sloP99: number
  open: boolean
  oidcProvider: boolean
  serviceOnly: boolean
  peer?: string[]
  mix?: Settings['mix']
  yardstick: boolean
  postgres?: string
  database?: string
  maxMinutes: number
  smoke: boolean
  out?: string
}

/** Adds `bench` and `bench compare`. `exit` receives the exit code. */
export function addBenchCommands(program: Command, env: Env, exit: (code: number) => void): void {
  const options = () => program.opts<GlobalOptions>()
  const command = benchCommand(program).action(async (scenarios: string[], flags: BenchFlags) => {
    const settings = settingsOf(scenarios, flags, env)
    if (settings.scenarios.length > 0 || settings.mix) exit(await measure(settings, flags, options()))
    const say = (text: string) => void process.stderr.write(`${text}\n`)
    for (const [name, measureStandalone] of Object.entries(STANDALONE))
      if (scenarios.includes(name)) write(`\n${await measureStandalone(settings, flags.smoke, say)}`)
  })
  command
    .command('compare')
    .description('Shows the changes between two reports. Changes within the noise of their rounds are marked.')
    .argument('<before>', 'Report (JSON).')
    .argument('<after>', 'Report (JSON).')
    .action((before: string, after: string) => {
      const comparison = compareReports(readReport(before), readReport(after))
      if (options().json) print(comparison, true)
      else write(renderComparison(comparison))
    })
}

/** `bench` with its flags. */
const benchCommand = (program: Command): Command =>
  program
    .command('bench')
    .description(
      `Measures the service on this machine, over loopback and on a temporary database. Scenarios: ${subjects.join(', ')}. token: all of them. parts: the cost of each building block. operators: list pages and a purge with a million tokens stored. overload: served and refused requests at ten times the capacity. postgres: one and two instances on PostgreSQL. scaling: client_credentials and refresh_token on 1, 2, 4 and more processors, with 1, 2 and 4 front threads; about ten minutes.`,
    )
    .argument('[scenarios...]', 'The scenarios to measure.')
    .option('--connections <n>', 'Number of connections of the load generator.', numberIn(1, 10_000), 64)
    .option('--clients <n>', 'Number of clients, used in rotation.', numberIn(1, 10_000), HOT_CLIENTS)
    .option('--seconds <n>', 'Duration of each measurement in seconds. (default: 10)', numberIn(1, 3600))
    .option('--warmup <n>', 'Seconds of load before each measurement. (default: 2)', numberIn(1, 600))
    .option(
      '--rounds <n>',
      'Measurements of the maximum rate of each server, alternating between servers. (default: 2)',
      numberIn(1, 100),
    )
    .option(
      '--generator <autocannon|own>',
      'Load generator for the maximum rate of repeatable requests. (default: autocannon in a checkout, otherwise own)',
      wordsOf(GENERATORS),
    )
    .option('--store <sqlite,postgres>', 'Databases to measure.', wordsOf(STORES), ['sqlite'])
    .option('--alg <ES256,RS256>', 'Signature algorithms to measure.', wordsOf(ALGS), ['ES256'])
    .option('--fill <n,n>', 'Issuances stored before the measurement, such as 0,1M,10M.', rows, [0])
    .option('--cold', 'Also measure with 20,000 distinct clients and empty caches.', false)
    .addOption(sloFlag('Maximum p99 latency. The knee is the highest rate that meets it without an error.'))
    .option('--no-open', 'Skip the open loop: measure maximum rates only.')
    .option(
      '--mix <work=share,...>',
      'Also measure a mix and its parts, and compare it with the plan of service plan.',
      reading(parseMix),
    )
    .option('--service-only', 'Do not measure oidc-provider, the reference server. For tuning.', false)
    .option(
      `--peer <${PEER_SYNTAX}>`,
      'Another server to measure, running on loopback. May be repeated.',
      (text: string, before: string[] = []) => [...before, text],
    )
    .option(
      '--yardstick',
      'Alternate each workload with a minimal program that signs, commits and answers, as a reference for the current speed of the machine. Only in a checkout.',
      false,
    )
    .option('--postgres <dsn>', 'PostgreSQL server on loopback. The run creates a temporary database in it.')
    .option('--database <file|dsn>', 'Use this database instead of a temporary one. It keeps the data of the run.')
    .option('--max-minutes <n>', 'End after this time with a report of the results so far.', numberIn(1, 24 * 60), 120)
    .option(
      '--smoke',
      'Measure for one second each: tests that everything works. The results say nothing about speed.',
      false,
    )
    .option(
      '--out <file>',
      'File of the report (JSON); an HTML report is written next to it. (default: in bench/results of a checkout, otherwise in the working folder)',
    )

/** Scenarios that are not workloads and print tables of their own. */
const STANDALONE = {
  parts: () => measureParts(),
  operators: (settings, smoke, say) => measureOperators(smoke ? SMALL : LARGE, settings, say),
  overload: ({ env, seconds }, _, say) => measureOverload(seconds, env, say),
} satisfies Record<string, (settings: Settings, smoke: boolean, say: (text: string) => void) => Promise<string>>

function settingsOf(scenarios: string[], flags: BenchFlags, env: Env): Settings {
  const isShared = scenarios.includes(SHARED.name)
  const isScaling = scenarios.includes(SCALING.name)
  const works = worksNamed(scenarios, flags)
  if (isScaling && !hasTaskset()) throw new UsageError(`${SCALING.name} needs the program taskset (util-linux)`)
  const { smoke, serviceOnly } = flags
  // Only the built-in generator can connect to several instances.
  const generator = isShared ? 'own' : (flags.generator?.[0] ?? bestGenerator())
  if (generator === 'autocannon' && !hasFile('autocannon')) throw new UsageError('autocannon works only in a checkout')
  if (flags.yardstick && !hasFile('yardstick')) throw new UsageError('--yardstick works only in a checkout')
  const settings: Settings = {
    ...flags,
    scenarios: works,
    seconds: flags.seconds ?? (smoke ? 1 : isScaling ? SCALING.seconds : 10),
    warmup: flags.warmup ?? (smoke ? 1 : 2),
    rounds: flags.rounds ?? (smoke ? 1 : 2),
    generator,
    stores: isShared ? ['postgres'] : isScaling ? ['sqlite'] : flags.store,
    instances: isShared ? SHARED.instances : 1,
    shapes: isScaling ? shapesFor(CORES) : undefined,
    algs: flags.alg,
    fills: flags.fill,
    sloMs: flags.sloP99,
    peer: !serviceOnly && !isScaling && hasFile('peer'),
    peers: (flags.peer ?? []).map(peerOf),
    env,
  }
  const faults = [
    ...databaseFaults(settings),
    ...peerFaults(settings.peers),
    ...(isScaling ? scalingFaults(isShared, flags) : []),
  ]
  if (faults.length > 0) throw new UsageError(...faults)
  return settings
}

/** The workloads of some scenarios. Throws UsageError for an unknown scenario, and when nothing is named. */
function worksNamed(scenarios: readonly string[], { mix }: BenchFlags): string[] {
  const groups = [SHARED, SCALING]
  const named = scenarios.flatMap((name) => groups.find((each) => each.name === name)?.works ?? [name])
  const works = named.filter((name) => !(name in STANDALONE))
  const unknown = works.filter((name) => worksOf(name, true).length === 0)
  if (unknown.length > 0 || (scenarios.length === 0 && !mix))
    throw new UsageError(
      `${unknown.length ? `unknown scenario: ${unknown.join(', ')}` : 'name a scenario'}; scenarios: token, ${[...subjects, ...groups.map(({ name }) => name), ...Object.keys(STANDALONE)].join(', ')}`,
    )
  return works
}

function scalingFaults(isShared: boolean, { mix, database, store }: BenchFlags): string[] {
  if (!isShared && !mix && !database && !store.includes('postgres')) return []
  return [
    `${SCALING.name} measures SQLite in temporary files: leave out --mix, --database, --store postgres and the scenario ${SHARED.name}`,
  ]
}

/** Parsed here and not by commander, which would print the text of a faulty flag, with its secret. */
function peerOf(text: string): ForeignPeer {
  try {
    return parsePeer(text)
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

async function measure(settings: Settings, { out }: BenchFlags, { json }: GlobalOptions): Promise<number> {
  const files = reportFiles(out, settings.smoke)
  const interrupted = new AbortController()
  const progress = openProgress((line) => process.stderr.write(line))
  // The first signal ends the run with a report of the results so far. The second signal ends the process and its children.
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  let firstMs: number | undefined
  const onSignal = (signal: NodeJS.Signals) => {
    if (firstMs === undefined) {
      firstMs = performance.now()
      progress.say('ending: the report has the results so far')
      interrupted.abort()
      return
    }
    // npm forwards the signal that the terminal has already sent.
    if (performance.now() - firstMs < ECHO_MS) return
    killAll()
    process.off(signal, onSignal)
    process.kill(process.pid, signal)
  }
  for (const signal of signals) process.on(signal, onSignal)
  try {
    const report = await bench(settings, progress, interrupted.signal)
    return finish(report, files, json)
  } finally {
    for (const signal of signals) process.off(signal, onSignal)
  }
}
