// What the processors did at the maximum rate, and where a token waited, in words.

import { ROLES } from '../../src/telemetry/proc.ts'
import type { Sample } from '../run/sample.ts'
import { digits } from './figures.ts'
import { middleRound, type Report, resultKey } from './report.ts'

/** A sentence for each result of the service about the processors, and one about the stages of its batches. */
export const stageSentences = ({ results, machine }: Report): string[] =>
  results
    .filter(({ store }) => store !== 'none')
    .flatMap((result) => {
      const sample = middleRound(result)
      return sample ? [`${resultKey(result)}: ${processors(sample, machine.cores)} ${stages(sample)}`.trim()] : []
    })

function processors({ busy }: Sample, cores: number): string {
  const service = ROLES.reduce((sum, role) => sum + (busy[role] ?? 0), 0)
  const parts = [
    `service ${digits(service, 2)}`,
    `load generator ${digits(busy.generator, 2)}`,
    ...(busy.database ? [`database ${digits(busy.database, 2)}`] : []),
    `others ${digits(busy.foreign, 2)}`,
    `idle ${digits(busy.machine === null ? null : Math.max(0, cores - busy.machine), 2)}`,
  ]
  return `of ${cores} processors: ${parts.join(', ')}.`
}

function stages({ stages = {} }: Sample): string {
  const parts = Object.entries(stages).map(([name, { p50, p99 }]) => `${name} ${digits(p50, 1)} and ${digits(p99, 1)}`)
  return parts.length > 0 ? `Batches, p50 and p99 in ms: ${parts.join('; ')}.` : ''
}
