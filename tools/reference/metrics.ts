// docs/reference/metrics.md: the metrics of the scrape endpoint.
import { COUNTERS, GAUGES, HISTOGRAMS, READINGS } from '../../src/telemetry/metric_names.ts'
import { BUCKETS } from '../../src/telemetry/metrics.ts'
import { code, page, table } from './markdown.ts'

const INTRO = `Names, labels and buckets are stable. Names with \`core_\` are the original ones; names with \`ext_\` were added later. A metric without labels, or
with a label whose values are known in advance, exists from the first scrape with the value 0. Any other metric appears with its first event. The scrape also has the metrics of the process (\`process_\`, \`nodejs_\`).`

const rows = (metrics: Readonly<Record<string, { help: string; labels: readonly string[] }>>) =>
  Object.entries(metrics).map(([name, { help, labels }]) => [code(name), labels.map(code).join(', '), help])

/** Counters, histograms and gauges in the order of their declaration. */
export const renderMetrics = (): string =>
  page(
    'Metrics',
    'src/telemetry/metrics.ts',
    INTRO,
    '## Counters',
    table(['Name', 'Labels', 'What it counts'], rows(COUNTERS)),
    '## Counters of queues and caches',
    'The label `lane` names the queue (`crypto`, `password`, `store`), and the label `cache` names the cache.',
    table(
      ['Name', 'What it counts'],
      Object.entries(READINGS).map(([name, help]) => [code(name), help]),
    ),
    '## Histograms',
    `Seconds, in the buckets ${BUCKETS.join(', ')}.`,
    table(['Name', 'Labels', 'What it measures'], rows(HISTOGRAMS)),
    '## Gauges',
    table(
      ['Name', 'What it shows'],
      Object.entries(GAUGES).map(([name, help]) => [code(name), help]),
    ),
  )
