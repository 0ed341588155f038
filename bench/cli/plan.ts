// `service plan`: the resources that a load needs, computed from a report of `service bench`.
import type { Command } from 'commander'
import { print, UsageError } from '../../src/cli/output.ts'
import type { GlobalOptions } from '../../src/cli/tree.ts'
import type { Env } from '../../src/config/env.ts'
import { loadConfig } from '../../src/config/load.ts'
import { plan } from '../plan/plan.ts'
import { renderPlan } from '../plan/text.ts'
import { readReport } from '../report/report.ts'
import { readMachine } from '../run/machine.ts'
import { parseMix } from '../run/scenarios.ts'
import { ALGS, type AlgName, type Settings, STORES, type StoreName } from '../run/settings.ts'
import { numberIn, reading, sloFlag, wordsOf } from './flags.ts'
import { latestReport } from './report.ts'

interface PlanFlags {
  rate: number
  average?: number
  mix: NonNullable<Settings['mix']>
  sloP99: number
  store: StoreName[]
  alg: AlgName[]
  cores?: number
  frontThreads: number
  headroom: number
  retentionDays: number
  from?: string
}

const NO_REPORT =
  'no report of this machine: `service bench` makes one; --from and observability.capacity_report name one'

/** Adds `plan`. */
export function addPlanCommand(program: Command, env: Env): void {
  const options = () => program.opts<GlobalOptions>()
  program
    .command('plan')
    .description(
      'Computes what a load needs from a report of service bench: instances, processors, memory, database and disk, with the formulas.',
    )
    .requiredOption('--rate <n>', 'Requests per second at peak load.', numberIn(1, 1e9))
    .requiredOption(
      '--mix <work=share,...>',
      'Workloads and their shares, such as client_credentials=80,refresh_token=15,exchange=5.',
      reading(parsePlannedMix),
    )
    .addOption(sloFlag('Maximum p99 latency.'))
    .option(
      '--average <n>',
      'Requests per second on average, for the growth of the database. (default: --rate)',
      numberIn(0, 1e9),
    )
    .option('--store <sqlite|postgres>', 'Database.', wordsOf(STORES), ['sqlite'])
    .option('--alg <ES256|RS256>', 'Signature algorithm.', wordsOf(ALGS), ['ES256'])
    .option('--cores <n>', 'Processors of each instance. (default: the number in the report)', numberIn(1, 1024))
    .option('--front-threads <n>', 'server.front_threads of each instance.', numberIn(1, 64), 1)
    .option('--headroom <share>', 'Share of the capacity that is kept free.', numberIn(0, 0.9), 0.3)
    .option('--retention-days <n>', 'Days for which rows are kept before they are purged.', numberIn(1, 36_500), 30)
    .option(
      '--from <file>',
      'The report of service bench. (default: observability.capacity_report, or else the latest report of this machine)',
    )
    .action((flags: PlanFlags) => {
      const { rate, average = rate } = flags
      const here = readMachine()
      const configured = flags.from ?? loadConfig(options().config, env).config.observability.capacity_report
      const file = configured || latestReport(here)
      const faults = [
        ...(average > rate ? [`--average (${average}) is above --rate (${rate}), which is the rate at peak load`] : []),
        ...(file ? [] : [NO_REPORT]),
      ]
      if (!file || faults.length > 0) throw new UsageError(...faults)
      const report = readReport(file)
      const input = {
        ...flags,
        average,
        here,
        sloMs: flags.sloP99,
        store: flags.store[0] ?? 'sqlite',
        alg: flags.alg[0] ?? 'ES256',
        cores: flags.cores ?? report.machine.cores,
      }
      const planned = plan(report, input)
      const { created_at, version, commit, machine } = report
      if (options().json) print({ report: { file, created_at, version, commit, machine }, ...planned }, true)
      else process.stdout.write(`${renderPlan(planned, input, report, file)}\n`)
    })
}

/** Parses a mix. Throws for a workload that occurs twice, because its share would be ambiguous. */
function parsePlannedMix(text: string): NonNullable<Settings['mix']> {
  const mix = parseMix(text)
  const names = mix.map(({ work }) => work.name)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice) throw new Error(`${twice} is in the mix more than once: ${text}`)
  return mix
}
