// The first lines of a report: what the machine serves, what gives way first, and what to change.
import type { Sample } from '../run/sample.ts'
import { whole } from './figures.ts'
import { middleRound, type Report, type WorkResult } from './report.ts'

export interface Headline {
  serves: string
  limit: string
  change: string
}

/** What to change when a part limits the rate. The text of a bottleneck begins with the part. */
const REMEDIES: readonly (readonly [part: string, remedy: string])[] = [
  ['the processors', 'more processors; on this machine the load generator uses a part of them'],
  ['the front thread', 'server.front_threads above 1 if processors are idle, or more instances on PostgreSQL'],
  ['the crypto thread', 'more processors or server.crypto_threads; ES256 instead of RS256'],
  ['the password threads', 'more processors: a password costs as much as a hundred tokens, by design'],
  ['the storage thread', 'a disk with faster forced writes, or PostgreSQL on another machine'],
  ['the disk', 'a disk with faster forced writes, or PostgreSQL on another machine'],
  ['the database server', 'a larger machine for the database; more instances of the service do not help'],
  [
    'the load generator',
    'nothing: the service can do more than this generator. Measure on a machine with more processors',
  ],
  ['other programs', 'stop the other programs and measure again'],
  ['the number of connections', 'measure with more connections (--connections): no part is full'],
]

/**
 * The name of a result of the service, without a database and an algorithm that all results of the service share. Services beside each
 * other, such as two instances, keep the name that tells them apart.
 */
export function resultName(result: WorkResult, { results }: Report): string {
  const ours = results.filter(({ store }) => store !== 'none')
  const isOnly = (of: (each: WorkResult) => string) => ours.every((each) => of(each) === of(result))
  return [
    // With spaces, the name of a mix can be wrapped.
    isMix(result) ? result.work.replaceAll(',', ', ') : result.work,
    result.server.replace(/^service(, )?/, ''),
    isOnly(({ store }) => store) ? '' : result.store,
    isOnly(({ alg }) => alg) ? '' : result.alg,
    result.fill ? `${result.fill} rows` : '',
  ]
    .filter(Boolean)
    .join(' · ')
}

const isMix = ({ work }: WorkResult) => work.startsWith('mix ')

const partOf = (bottleneck: string) => REMEDIES.find(([part]) => bottleneck.startsWith(part))

/** The measured results of the service with the median round of each. */
export const measuredOf = (report: Report): { result: WorkResult; sample: Sample; name: string }[] =>
  report.results
    .filter(({ store }) => store !== 'none')
    .flatMap((result) => {
      const sample = middleRound(result)
      return sample ? [{ result, sample, name: resultName(result, report) }] : []
    })

/** The headline of a report; undefined when nothing was measured. */
export function headlineOf(report: Report): Headline | undefined {
  const measured = measuredOf(report)
  if (measured.length === 0) return undefined
  const { machine, settings } = report
  const known = measured.filter(({ result }) => result.knee)
  const rates = (known.length > 0 ? known : measured).map(
    ({ result, sample, name }) => `${name} ${whole(result.knee?.offered_per_s ?? sample.per_s)}/s`,
  )
  const bound = known.length > 0 ? `with p99 within ${settings.slo_p99_ms} ms` : 'at most, whatever the latency'
  const works = new Map<string, string[]>()
  for (const { sample, name } of measured) {
    const [part] = partOf(sample.bottleneck) ?? [sample.bottleneck]
    works.set(part, [...(works.get(part) ?? []), name])
  }
  // The part that limits most workloads first.
  const parts = [...works].toSorted(([, a], [, b]) => b.length - a.length)
  const limits = parts.map(([part, names]) => (parts.length > 1 ? `${part} (${names.join('; ')})` : part))
  return {
    serves: `${machine.cores} x ${machine.model}, ${bound}: ${rates.join('; ')}.`,
    limit: `${limits.join(', ')}.`,
    change: parts
      .flatMap(([part]) => partOf(part)?.[1] ?? [])
      .map((remedy) => `${remedy}.`)
      .join(' '),
  }
}
