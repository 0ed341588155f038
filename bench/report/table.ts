// A report as text: how it was measured, a Markdown table, and the conclusions in words.

import { planVerdict } from '../plan/verdict.ts'
import { FOREIGN, type Sample } from '../run/sample.ts'
import { median } from '../statistics.ts'
import { digits } from './figures.ts'
import { headlineOf } from './headline.ts'
import { middleRound, type Report, resultKey, type WorkResult, YARDSTICK } from './report.ts'

/** The headline as text; empty when nothing was measured. */
export function headlineText(report: Report): string {
  const headline = headlineOf(report)
  if (!headline) return ''
  const { serves, limit, change } = headline
  const lines = [`Serves: ${serves}`, `Gives way first: ${limit}`, ...(change ? [`To serve more: ${change}`] : [])]
  return lines.join('\n')
}

/** Everything that a reader needs to repeat the measurement. */
export function describeRun({ version, commit, machine, settings, calibration, partial, seconds }: Report): string {
  const { connections, rounds, warmup, slo_p99_ms, callers, versions, smoke, clients } = settings
  const busy = machine.load_average > machine.cores / 4
  return [
    `service ${version} (${commit}); ${Object.entries(versions)
      .map(([name, each]) => (each.startsWith(name) ? each : `${name} ${each}`))
      .join(', ')}`,
    `machine: ${machine.cores} x ${machine.model}, ${machine.memory_gib} GiB, ${machine.os}, Node ${machine.node}, OpenSSL ${machine.openssl}; load average at the start ${machine.load_average.toFixed(2)}`,
    `calibration: ES256 ${digits(calibration.es256_sign_per_s, 0)} signatures/s and ${digits(calibration.es256_verify_per_s, 0)} verifications/s on one core, RS256 ${digits(calibration.rs256_sign_per_s, 0)}/s, ` +
      `${digits(calibration.fsync_per_s, 0)} forced writes/s, HTTP ${digits(calibration.http_per_s, 0)}/s at ${digits(calibration.http_cpu_us, 1)} us`,
    `load: ${connections} connections on loopback from the same machine, ${clients === undefined ? '' : `${clients} clients in rotation, `}${rounds} x ${settings.seconds} s after ${warmup} s of warm-up, servers alternating; objective p99 <= ${slo_p99_ms} ms, no errors`,
    `service: rate limiting OFF, log level warn, synchronous=FULL${callers.length ? `; set by the caller: ${callers.join(', ')}` : ''}; duration ${Math.round(seconds)} s`,
    ...(machine.tmpfs ? ['ON TMPFS: COMMITS COST NOTHING THERE'] : []),
    ...(busy ? ['THE MACHINE WAS BUSY AT THE START: do not publish these results'] : []),
    ...(smoke ? ['SMOKE RUN: it tests that everything works and says nothing about speed'] : []),
    ...(partial ? ['INTERRUPTED: missing results were not measured'] : []),
  ].join('\n')
}

const HEADER = [
  'workload',
  'server',
  'max/s',
  'p50 ms',
  'p99 ms',
  'p99.9 ms',
  'errors',
  'CPU us',
  'front',
  'crypto',
  'storage',
  'growth B',
  'knee/s',
  'to the peer',
  'to the yardstick',
  'limited by',
]
const TEXT_COLUMNS = new Set([0, 1, 15])

/** One line per result: the values of the median round, and the errors of all rounds. */
export function table({ results }: Report): string {
  return aligned([HEADER, ...results.map((result) => line(result, results))], TEXT_COLUMNS)
}

function line(result: WorkResult, all: readonly WorkResult[]): string[] {
  const sample = middleRound(result)
  const { work, server, store, alg, fill, rounds, ladder, knee, knee_at_least, failed } = result
  const errors = [...rounds].reduce((sum, each) => sum + each.errors, 0)
  const setting = [store === 'none' ? '' : store, alg === 'ES256' ? '' : alg, fill ? `${fill} rows` : ''].filter(
    Boolean,
  )
  const figures = sample ? figuresOf(sample) : []
  return [
    work,
    setting.length ? `${server} (${setting.join(', ')})` : server,
    ...(sample ? figures.slice(0, 4) : ['-', '-', '-', '-']),
    `${errors}`,
    ...(sample ? figures.slice(4) : ['-', '-', '-', '-', '-']),
    knee ? `${knee_at_least ? '>= ' : ''}${digits(knee.offered_per_s, 0)}` : ladder.length > 0 ? 'none' : '-',
    ratio(result, all, (server) => server !== YARDSTICK),
    ratio(result, all, (server) => server === YARDSTICK),
    failed ? `FAILED: ${failed.slice(0, 80)}` : (sample?.bottleneck ?? '-'),
  ]
}

const figuresOf = ({ per_s, latency_ms, cpu_us, database_bytes }: Sample): string[] => [
  digits(per_s, 0),
  digits(latency_ms.p50, 1),
  digits(latency_ms.p99, 1),
  digits(latency_ms.p999, 1),
  digits(cpu_us.total, 0),
  digits(cpu_us.front, 0),
  digits(cpu_us.crypto, 0),
  digits(cpu_us.store, 0),
  digits(database_bytes, 0),
]

/** The ratios of a value to that of another server, round by round. */
export const pairsOf = (result: WorkResult, other: WorkResult, of: (sample: Sample) => number | null): number[] =>
  result.rounds.flatMap((round, i) => {
    const [mine, its] = [of(round), other.rounds[i] ? of(other.rounds[i]) : null]
    return mine !== null && its ? mine / its : []
  })

/** The median of the ratios to another server of the same run, and their range. */
function ratio(result: WorkResult, all: readonly WorkResult[], isOther: (server: string) => boolean): string {
  if (result.store === 'none') return ''
  const peer = all.find(
    ({ work, server, store, rounds }) =>
      work === result.work && store === 'none' && isOther(server) && rounds.length > 0,
  )
  const pairs = peer ? pairsOf(result, peer, ({ per_s }) => per_s) : []
  if (pairs.length === 0) return ''
  const text = `${digits(median(pairs), 2)}x`
  return pairs.length > 1 ? `${text} (${digits(Math.min(...pairs), 2)} to ${digits(Math.max(...pairs), 2)})` : text
}

/** The conclusions of a run: a sentence for each result of the service. */
export function verdict({ results, settings, plan_check, machine, speeds }: Report): string[] {
  const sentences = results
    .filter(({ store }) => store !== 'none')
    .map((result) => {
      const { knee, knee_at_least, failed, ladder } = result
      const sample = middleRound(result)
      const name = resultKey(result)
      if (failed || !sample) return `${name} could not be measured: ${failed ?? 'the run ended before it'}.`
      const rate = digits(knee?.offered_per_s, 0)
      const kept = knee
        ? ` It keeps p99 within ${settings.slo_p99_ms} ms up to ${knee_at_least ? `at least ${rate}/s: above it, ${knee_at_least}` : `${rate}/s`}.`
        : ladder.length > 0
          ? ` It did not keep p99 within ${settings.slo_p99_ms} ms at any measured rate${knee_at_least ? `, but ${knee_at_least}` : ''}.`
          : ''
      const foreign =
        (sample.busy.foreign ?? 0) > FOREIGN.said * machine.cores
          ? ` Other programs used ${digits(sample.busy.foreign, 1)} processors during the measurement.`
          : ''
      return `${name}: ${digits(sample.per_s, 0)}/s at ${digits(sample.cpu_us.total, 0)} us; limited by: ${sample.bottleneck}.${kept}${foreign}`
    })
  return plan_check ? [...sentences, planVerdict(plan_check, speeds)] : sentences
}

/** A Markdown table with aligned columns. Numbers are right-aligned. */
export function aligned([header = [], ...lines]: readonly string[][], text: ReadonlySet<number>): string {
  const all = [header, ...lines]
  const widths = header.map((_, column) => Math.max(3, ...all.map((cells) => cells[column]?.length ?? 0)))
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const rule = widths.map((width, column) => (text.has(column) ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`))
  const padded = all.map((cells) =>
    widths.map((width, column) =>
      text.has(column) ? (cells[column] ?? '').padEnd(width) : (cells[column] ?? '').padStart(width),
    ),
  )
  return [row(padded[0] ?? []), row(rule), ...padded.slice(1).map(row)].join('\n')
}
