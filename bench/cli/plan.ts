// `service plan`: what a load would need, from what `service bench` measured.
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
import { millis, numberIn, reading, wordsOf } from './flags.ts'

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

/** Adds `plan`. */
export function addPlanCommand(program: Command, env: Env): void {
  const options = () => program.opts<GlobalOptions>()
  program
    .command('plan')
    .description(
      'Says what a load needs: instances, processors, memory, database, disk; with the formulas, from a report of bench.',
    )
    .requiredOption('--rate <n>', 'Requests a second at the peak.', numberIn(1, 1e9))
    .requiredOption(
      '--mix <work=share,...>',
      'What they are: client_credentials=80,refresh_token=15,exchange=5.',
      reading(parsePlannedMix),
    )
    .option('--slo-p99 <duration>', 'The objective.', millis, 25)
    .option('--average <n>', 'Requests a second on average, for what is stored. (default: the rate)', numberIn(0, 1e9))
    .option('--store <sqlite|postgres>', 'Database.', wordsOf(STORES), ['sqlite'])
    .option('--alg <ES256|RS256>', 'Signatures.', wordsOf(ALGS), ['ES256'])
    .option('--cores <n>', 'Processors of an instance. (default: those of the report)', numberIn(1, 1024))
    .option('--front-threads <n>', 'server.front_threads of an instance.', numberIn(1, 64), 1)
    .option('--headroom <share>', 'Share of the capacity that stays free.', numberIn(0, 0.9), 0.3)
    .option('--retention-days <n>', 'How long rows are kept before they are purged.', numberIn(1, 36_500), 30)
    .option('--from <file>', 'Report of service bench. (default: observability.capacity_report)')
    .action((flags: PlanFlags) => {
      const { rate, average = rate } = flags
      if (average > rate)
        throw new UsageError(`--average (${average}) is above --rate (${rate}): the rate is that of the peak`)
      const file = flags.from ?? loadConfig(options().config, env).config.observability.capacity_report
      // Another machine has other costs, so a report is never guessed.
      if (!file)
        throw new UsageError(
          'no report: name one of this machine with --from or observability.capacity_report; `service bench` makes it',
        )
      const report = readReport(file)
      const input = {
        ...flags,
        average,
        here: readMachine(),
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

/** Reads a mix. Throws for a work that is there twice: which of the shares was meant nobody knows. */
function parsePlannedMix(text: string): NonNullable<Settings['mix']> {
  const mix = parseMix(text)
  const names = mix.map(({ work }) => work.name)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice) throw new Error(`${twice} is in the mix more than once: ${text}`)
  return mix
}
