// docs/reference/metrics.md: what the scrape endpoint offers.
import { COUNTERS, GAUGES, HISTOGRAMS, READINGS } from '../../src/telemetry/metric_names.ts'
import { BUCKETS } from '../../src/telemetry/metrics.ts'
import { code, page, table } from './markdown.ts'

const INTRO = `Names, labels and buckets are stable. \`core_\` names are the original ones, \`ext_\` names were added later. A metric without labels, or
with one whose values are known, is there from the first scrape, at 0; any other one appears with its first event. The metrics of the process itself (\`process_\`, \`nodejs_\`) come beside these.`

const rows = (metrics: Readonly<Record<string, { help: string; labels: readonly string[] }>>) =>
  Object.entries(metrics).map(([name, { help, labels }]) => [code(name), labels.map(code).join(', '), help])

/** Counters, histograms and gauges in the order of their declaration. */
export const renderMetrics = (): string =>
  page(
    'Metrics',
    'src/telemetry/metrics.ts',
    INTRO,
    '## Counters',
    table(['Name', 'Labels', 'Counts'], rows(COUNTERS)),
    '## Counters of queues and caches',
    'By `lane` (`crypto`, `password`, `store`) and by `cache`.',
    table(
      ['Name', 'Counts'],
      Object.entries(READINGS).map(([name, help]) => [code(name), help]),
    ),
    '## Histograms',
    `Seconds, in the buckets ${BUCKETS.join(', ')}.`,
    table(['Name', 'Labels', 'Measures'], rows(HISTOGRAMS)),
    '## Gauges',
    table(
      ['Name', 'Shows'],
      Object.entries(GAUGES).map(([name, help]) => [code(name), help]),
    ),
  )
