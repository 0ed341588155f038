// `service plan`: what a load would need, from what `service bench` measured.
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import type { Command } from 'commander'
import { plan } from '../bench/plan.ts'
import { renderPlan } from '../bench/plan_text.ts'
import { type Report, readReport, resultsFolder } from '../bench/report.ts'
import { parseMix } from '../bench/scenarios.ts'
import { ALGS, type AlgName, type Settings, STORES, type StoreName } from '../bench/settings.ts'
import { millis, numberIn, reading, wordsOf } from './bench_flags.ts'
import { print, UsageError } from './output.ts'
import type { GlobalOptions } from './tree.ts'

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
export function addPlanCommand(program: Command): void {
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
      reading(parseMix),
    )
    .option('--slo-p99 <duration>', 'The objective.', millis, 25)
    .option('--average <n>', 'Requests a second on average, for what is stored. (default: the rate)', numberIn(0, 1e9))
    .option('--store <sqlite|postgres>', 'Database.', wordsOf(STORES), ['sqlite'])
    .option('--alg <ES256|RS256>', 'Signatures.', wordsOf(ALGS), ['ES256'])
    .option('--cores <n>', 'Processors of an instance. (default: those of the report)', numberIn(1, 1024))
    .option('--front-threads <n>', 'server.front_threads of an instance.', numberIn(1, 64), 1)
    .option('--headroom <share>', 'Share of the capacity that stays free.', numberIn(0, 0.9), 0.3)
    .option('--retention-days <n>', 'How long rows are kept before they are purged.', numberIn(1, 36_500), 30)
    .option('--from <file>', 'Report. (default: the newest of bench/results that has the mix)')
    .action((flags: PlanFlags) => {
      const inputOf = (report: Report) => ({
        ...flags,
        average: flags.average ?? flags.rate,
        sloMs: flags.sloP99,
        store: flags.store[0] ?? 'sqlite',
        alg: flags.alg[0] ?? 'ES256',
        cores: flags.cores ?? report.machine.cores,
      })
      const report = flags.from ? readReport(flags.from) : newestReport((each) => plan(each, inputOf(each)))
      const input = inputOf(report)
      const planned = plan(report, input)
      if (options().json) print(planned, true)
      else process.stdout.write(`${renderPlan(planned, input, report)}\n`)
    })
}

/** The newest report of the history that can be planned from. */
function newestReport(tryOut: (report: Report) => unknown): Report {
  const files = existsSync(resultsFolder) ? readdirSync(resultsFolder).filter((name) => name.endsWith('.json')) : []
  let reason = 'there is none'
  for (const name of files.sort().reverse()) {
    try {
      const report = readReport(path.join(resultsFolder, name))
      tryOut(report)
      return report
    } catch (error) {
      reason = (error as Error).message
    }
  }
  throw new UsageError(
    `no report in ${resultsFolder} will do (${reason}): name one with --from, or take one with service bench`,
  )
}
