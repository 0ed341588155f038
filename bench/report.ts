// What a run prints: how it was taken, and one Markdown table.
import { execFileSync } from 'node:child_process'
import { readFileSync, statfsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus, loadavg, release, tmpdir, totalmem } from 'node:os'
import path from 'node:path'
import { packageRoot } from '../src/lib/paths.ts'
import { wrkVersion } from './load.ts'
import type { Settings } from './run.ts'
import { callersSettings } from './server.ts'
import { type LoadResult, median } from './usage.ts'

export interface Row {
  work: string
  /** The peer of this run has no grant for it. */
  hasNoPeer: boolean
  /** The service first, then the peer it is compared with. */
  servers: { name: string; results: LoadResult[] }[]
}

const TMPFS = 0x01021994
const startLoad = loadavg()[0] as number

const versionOf = (packageFile: string) =>
  (JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }).version
const versionOfDependency = (name: string) => versionOf(createRequire(import.meta.url).resolve(`${name}/package.json`))

function commit(): string {
  try {
    const git = (...args: string[]) => execFileSync('git', args, { cwd: packageRoot, stdio: 'pipe' }).toString().trim()
    return git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain') ? ' with changes' : '')
  } catch {
    return 'commit unknown'
  }
}

/** Everything a reader needs to take the figures again. */
export function describeRun({ connections, seconds, warmup, rounds, generator, serviceOnly }: Settings): string {
  const cores = cpus()
  const settings = Object.keys(callersSettings())
  return [
    `service ${versionOf(path.join(packageRoot, 'package.json'))} (${commit()})` +
      (serviceOnly ? ', no peer' : ` beside oidc-provider ${versionOfDependency('oidc-provider')}`),
    `machine: ${cores.length} x ${cores[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}, ` +
      `Node ${process.versions.node}, OpenSSL ${process.versions.openssl}; load average at the start ${startLoad.toFixed(2)}`,
    `load: ${connections} connections on loopback from the same machine, ${rounds} x ${seconds} s after ${warmup} s of warm-up, ` +
      `servers in turns; ${generator === 'wrk' ? wrkVersion() : `autocannon ${versionOfDependency('autocannon')}`}, ` +
      'own closed loop where every request needs something of its own',
    'service: rate limiting OFF, log level warn, ES256, SQLite with synchronous=FULL ' +
      `${statfsSync(tmpdir()).type === TMPFS ? 'on tmpfs, WHERE A COMMIT COSTS NOTHING' : `in ${tmpdir()}`}` +
      (settings.length ? `; set by the caller: ${settings.join(', ')}` : ''),
    ...(startLoad > cores.length / 4 ? ['THE MACHINE WAS BUSY: these figures are not for publishing'] : []),
    ...(serviceOnly
      ? []
      : [
          'peer: in-memory adapter (nothing durable), no rate limit, ES256 JWT access tokens; introspection of opaque ' +
            'tokens without a signature, because it introspects no JWTs; no token exchange, no assertions of identity providers',
        ]),
  ].join('\n')
}

const rate = ({ successes, seconds }: LoadResult) => successes / seconds
const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })
const digits = (value: number, count: number) => (Number.isFinite(value) ? value.toFixed(count) : '-')

/** The table: of each figure the median of the rounds; of the ratio the median of the pairs, and their range. */
export function table(rows: readonly Row[]): string {
  const header = [
    'work',
    'server',
    'requests/s',
    'p50 ms',
    'p99 ms',
    'errors',
    'server CPU us/answer',
    'ratio to the peer',
  ]
  const lines = rows.flatMap(({ work, hasNoPeer, servers }) =>
    servers.map(({ name, results }, i) => {
      const middle = (of: (result: LoadResult) => number) => median(results.map(of))
      return [
        i === 0 ? work : '',
        name,
        grouped.format(middle(rate)),
        digits(
          middle((result) => result.p50Ms),
          1,
        ),
        digits(
          middle((result) => result.p99Ms),
          1,
        ),
        grouped.format(results.reduce((sum, result) => sum + result.errors, 0)),
        digits(
          middle((result) => result.cpuMicros / result.successes),
          0,
        ),
        hasNoPeer ? 'no peer' : i === 0 ? ratio(results, servers[1]?.results ?? []) : '',
      ]
    }),
  )
  return aligned([header, header.map(() => ''), ...lines])
}

function ratio(mine: readonly LoadResult[], peers: readonly LoadResult[]): string {
  const pairs = mine.flatMap((result, i) => (peers[i] ? rate(result) / rate(peers[i]) : []))
  if (pairs.length === 0) return ''
  const text = `${digits(median(pairs), 2)}x`
  return pairs.length > 1 ? `${text} (${digits(Math.min(...pairs), 2)} to ${digits(Math.max(...pairs), 2)})` : text
}

/** A Markdown table that reads well as text too; an empty second line becomes the rule. Figures are right-aligned. */
export function aligned(lines: readonly string[][], textColumns = 2): string {
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  return lines
    .map((line, i) =>
      line.map((cell, column) => {
        const width = widths[column] as number
        if (column < textColumns) return i === 1 ? '-'.repeat(width) : cell.padEnd(width)
        return i === 1 ? `${'-'.repeat(width - 1)}:` : cell.padStart(width)
      }),
    )
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')
}
