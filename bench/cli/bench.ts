// `service bench`: what this machine does.
import type { Command } from 'commander'
import { print, UsageError } from '../../src/cli/output.ts'
import type { GlobalOptions } from '../../src/cli/tree.ts'
import type { Env } from '../../src/config/env.ts'
import { bestGenerator, GENERATORS, wrkVersion } from '../load/load.ts'
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
import { millis, numberIn, reading, wordsOf } from './flags.ts'
import { finish, reportFiles } from './report.ts'

const ECHO_MS = 1000
const write = (text: string) => process.stdout.write(`${text}\n`)

const SCALE: Readonly<Record<string, number>> = { k: 1e3, M: 1e6 }
const rows = reading((text) =>
  text.split(',').map((part) => {
    const [, count, unit = ''] = /^(\d+)([kM]?)$/.exec(part.trim()) ?? []
    if (!count) throw new Error('It is numbers of rows such as 0,1M.')
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

/** Adds `bench` and `bench compare`. `exit` is told the exit code. */
export function addBenchCommands(program: Command, env: Env, exit: (code: number) => void): void {
  const options = () => program.opts<GlobalOptions>()
  const command = program
    .command('bench')
    .description(
      `Measures the service on this machine, over loopback and on a temporary database: ${subjects.join(', ')}; token is all of them, parts what one of each part costs, operators what list pages and a purge cost beside a million tokens, overload what a crowd gets and does, postgres what one instance and two do on PostgreSQL.`,
    )
    .argument('[scenarios...]', 'What to measure.')
    .option('--connections <n>', 'Connections of the load generator.', numberIn(1, 10_000), 64)
    .option('--clients <n>', 'Machine clients in rotation.', numberIn(1, 10_000), HOT_CLIENTS)
    .option('--seconds <n>', 'How long each measurement lasts. (default: 10)', numberIn(1, 3600))
    .option('--warmup <n>', 'Seconds of load before each measurement. (default: 2)', numberIn(1, 600))
    .option('--rounds <n>', 'Measurements of the ceiling of each server, in turns. (default: 2)', numberIn(1, 100))
    .option(
      '--generator <wrk|autocannon|own>',
      'For ceilings of requests that can be repeated. (default: the first that is here)',
      wordsOf(GENERATORS),
    )
    .option('--store <sqlite,postgres>', 'Databases.', wordsOf(STORES), ['sqlite'])
    .option('--alg <ES256,RS256>', 'Signatures.', wordsOf(ALGS), ['ES256'])
    .option('--fill <n,n>', 'Issuances in the database before, such as 0,1M,10M.', rows, [0])
    .option('--cold', 'Also with 20,000 distinct clients and empty caches.', false)
    .option(
      '--slo-p99 <duration>',
      'The objective: the knee is the highest rate that keeps it without an error.',
      millis,
      25,
    )
    .option('--no-open', 'Without the open loop: ceilings only.')
    .option(
      '--mix <work=share,...>',
      'Also measure a mix and its parts, and hold it against what the planner says.',
      reading(parseMix),
    )
    .option('--service-only', 'Without oidc-provider: for tuning.', false)
    .option(
      `--peer <${PEER_SYNTAX}>`,
      'Another server that is running on loopback; may be repeated.',
      (text: string, before: string[] = []) => [...before, text],
    )
    .option(
      '--yardstick',
      'Each work in turns with the least that signs, commits and answers: how fast the machine is just then. In a checkout only.',
      false,
    )
    .option('--postgres <dsn>', 'PostgreSQL server on loopback, for a temporary database in it.')
    .option('--database <file|dsn>', 'Use this database instead of a temporary one. It keeps what the run writes.')
    .option('--max-minutes <n>', 'End after this time with what there is.', numberIn(1, 24 * 60), 120)
    .option('--smoke', 'One round of a second each: shows that everything works, says nothing about speed.', false)
    .option(
      '--out <file>',
      'Where the report goes, as JSON and beside it as HTML. (default: bench/results of a checkout, else the working folder)',
    )
    .action(async (scenarios: string[], flags: BenchFlags) => {
      const settings = settingsOf(scenarios, flags, env)
      if (settings.scenarios.length > 0 || settings.mix) exit(await measure(settings, flags, options()))
      const say = (text: string) => void process.stderr.write(`${text}\n`)
      for (const [name, measureApart] of Object.entries(APART))
        if (scenarios.includes(name)) write(`\n${await measureApart(settings, flags.smoke, say)}`)
    })
  command
    .command('compare')
    .description('Shows what changed between two reports; changes within the noise of their rounds are called so.')
    .argument('<before>', 'Report (JSON).')
    .argument('<after>', 'Report (JSON).')
    .action((before: string, after: string) => {
      const comparison = compareReports(readReport(before), readReport(after))
      if (options().json) print(comparison, true)
      else write(renderComparison(comparison))
    })
}

/** What is measured by itself, and is no load. */
const APART = {
  parts: () => measureParts(),
  operators: ({ env }, smoke, say) => measureOperators(smoke ? SMALL : LARGE, env, say),
  overload: ({ env, seconds }, _, say) => measureOverload(seconds, env, say),
} satisfies Record<string, (settings: Settings, smoke: boolean, say: (text: string) => void) => Promise<string>>

function settingsOf(scenarios: string[], flags: BenchFlags, env: Env): Settings {
  const isShared = scenarios.includes(SHARED.name)
  const named = isShared ? [...scenarios, ...SHARED.works] : scenarios
  const known = named.filter((name) => name !== SHARED.name && !(name in APART))
  const unknown = known.filter((name) => worksOf(name, true).length === 0)
  if (unknown.length > 0 || (scenarios.length === 0 && !flags.mix))
    throw new UsageError(
      `${unknown.length ? `${unknown.join(', ')} is no scenario` : 'no scenario is named'}; there are token, ${[...subjects, SHARED.name, ...Object.keys(APART)].join(', ')}`,
    )
  const { smoke, serviceOnly } = flags
  // Only our own loop leads connections to several instances.
  const generator = isShared ? 'own' : (flags.generator?.[0] ?? bestGenerator())
  if (generator === 'wrk' && !wrkVersion()) throw new UsageError('wrk is not installed')
  if (flags.yardstick && !hasFile('yardstick')) throw new UsageError('the yardstick comes with the checkout')
  const settings: Settings = {
    ...flags,
    scenarios: known,
    seconds: flags.seconds ?? (smoke ? 1 : 10),
    warmup: flags.warmup ?? (smoke ? 1 : 2),
    rounds: flags.rounds ?? (smoke ? 1 : 2),
    generator,
    stores: isShared ? ['postgres'] : flags.store,
    instances: isShared ? SHARED.instances : 1,
    algs: flags.alg,
    fills: flags.fill,
    sloMs: flags.sloP99,
    peer: !serviceOnly && hasFile('peer'),
    peers: (flags.peer ?? []).map(peerOf),
    env,
  }
  const faults = [...databaseFaults(settings), ...peerFaults(settings.peers)]
  if (faults.length > 0) throw new UsageError(...faults)
  return settings
}

/** Not read as it is parsed: commander would print it, with its secret. */
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
  // The first signal ends the run with what it has; the second one ends the process, and what it started with it.
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  let firstMs: number | undefined
  const onSignal = (signal: NodeJS.Signals) => {
    if (firstMs === undefined) {
      firstMs = performance.now()
      progress.say('ending: the report says what was measured so far')
      interrupted.abort()
      return
    }
    // npm passes on what the terminal has sent already.
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
