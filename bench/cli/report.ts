// The report files of `service bench`: checked before anything is measured, written at the end.
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { EXIT, print, UsageError } from '../../src/cli/output.ts'
import { packageRoot } from '../../src/lib/paths.ts'
import { renderHtml } from '../report/html.ts'
import { type Report, readReport, resultsFolder } from '../report/report.ts'
import { stageSentences } from '../report/stages.ts'
import { describeRun, headlineText, table, verdict } from '../report/table.ts'
import { readVersion } from '../run/machine.ts'

export interface ReportFiles {
  json: string
  html: string
}
/** Exit code of a run that a signal ended. */
const INTERRUPTED = 130

/** The two files of a report, given the name of one of them. Throws a usage error unless both can be written. */
export function reportFiles(out: string | undefined, smoke: boolean): ReportFiles {
  const named = path.resolve(out ?? path.join(defaultFolder(smoke), defaultName()))
  const files = { json: named.replace(/\.html$/i, '.json'), html: `${named.replace(/\.(json|html)$/i, '')}.html` }
  if (out === '' || /[/\\]$/.test(out ?? '')) throw new UsageError(`--out ${out}: this is not a file name`)
  for (const file of [files.json, files.html])
    try {
      makeFolder(path.dirname(file))
      tryWriting(file)
    } catch (error) {
      throw new UsageError(`--out: a report cannot be written there: ${(error as Error).message}`)
    }
  return files
}

/** Writes a report and prints it. Returns the exit code. A report that cannot be written is still printed. */
export function finish(report: Report, files: ReportFiles, asJson: boolean | undefined): number {
  const fault = faultOf(() => {
    writeFileSync(files.json, `${JSON.stringify(report, null, 1)}\n`)
    writeFileSync(files.html, renderHtml(report))
  })
  const [json, html] = [files.json, files.html].map((file) => path.relative(process.cwd(), file))
  if (asJson) print(report, true)
  else {
    const where = fault ? [] : [`report: ${json} and ${html}`]
    const parts = [
      headlineText(report),
      table(report),
      verdict(report).join('\n'),
      stageSentences(report).join('\n'),
      describeRun(report),
      ...where,
    ]
    process.stdout.write(`${parts.filter(Boolean).join('\n\n')}\n`)
  }
  if (fault) {
    process.stderr.write(`error: the report was not written: ${fault}\n`)
    return EXIT.failed
  }
  if (report.partial) return INTERRUPTED
  const isBad = report.results.some(({ failed, rounds }) => failed || rounds.some(({ errors }) => errors > 0))
  return isBad ? EXIT.failed : EXIT.ok
}

function faultOf(work: () => void): string | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

/** The report of the last `service bench` on this machine, under whatever name, or undefined. Costs differ between machines, so those of others do not count. */
export function latestReport(
  here: Pick<Report['machine'], 'cores' | 'model'>,
  folders: readonly string[] = [process.cwd(), defaultFolder(false)],
): string | undefined {
  const files = [...new Set(folders)].flatMap((folder) =>
    readdirSync(folder, { withFileTypes: true })
      .filter((each) => each.isFile() && each.name.endsWith('.json'))
      .map(({ name }) => path.join(folder, name)),
  )
  const reports = files.flatMap((file) => {
    const report = statSync(file).size > MAX_BYTES ? undefined : reportIn(file)
    return report && isUsable(report, here) ? [{ file, at: report.created_at }] : []
  })
  return reports.sort((a, b) => (a.at < b.at ? 1 : -1))[0]?.file
}
/** Other JSON files of a folder may be larger. */
const MAX_BYTES = 4 * 1024 ** 2

function reportIn(file: string): Report | undefined {
  try {
    return readReport(file)
  } catch {
    return undefined
  }
}

const isUsable = (
  { machine, settings, partial }: Report,
  { cores, model }: Pick<Report['machine'], 'cores' | 'model'>,
) => machine.cores === cores && machine.model === model && !settings.smoke && !partial

/** Smoke runs are not kept in bench/results, and installations have no such folder. */
const defaultFolder = (smoke: boolean): string =>
  existsSync(path.join(packageRoot, '.git')) && !smoke ? resultsFolder : process.cwd()

function defaultName(): string {
  const time = new Date().toISOString().slice(0, 19).replace(/[-:]/g, '')
  return `service-bench-${time}-${readVersion().commit.split(' ')[0]}.json`
}

/** Creates the folders one by one: the recursive mkdir of Node does not return where the system reports ENOENT, as in /proc. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return
  makeFolder(path.dirname(folder))
  mkdirSync(folder)
}

/** Throws unless a file can be written. It keeps the contents of an existing file, and removes a new one. */
function tryWriting(file: string): void {
  const isNew = !existsSync(file)
  closeSync(openSync(file, 'a'))
  if (isNew) rmSync(file)
}
