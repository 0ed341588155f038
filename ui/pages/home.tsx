// Home: what needs attention, traffic and unsafe settings.
import type { ComponentChildren } from 'preact'
import { compact, formatBytes, latency, number, quantity, span } from '../lib/format.ts'
import { type Charted, useCharts, useRange } from '../lib/history.ts'
import { useGet, useLoad } from '../lib/load.ts'
import { RANGES, type RangeName } from '../lib/range.ts'
import { href } from '../lib/router.ts'
import { type ChartSeries, readSeries } from '../lib/series.ts'
import type { InstanceAnswer, Keys, Stats, Status } from '../lib/types.ts'
import { Marks, RangeChoice } from '../parts/activity.tsx'
import { AttentionCard, Concerns, ProviderStates, Stale } from '../parts/attention.tsx'
import { Chart } from '../parts/chart.tsx'
import { FirstSteps } from '../parts/first_steps.tsx'
import { Jobs } from '../parts/jobs.tsx'
import type { Column } from '../parts/list.tsx'
import { TableCard } from '../parts/table_card.tsx'
import { Badge, Card, Facts, PageHead, ProblemNote, Time } from '../parts/text.tsx'
import { TopClients } from '../parts/top_clients.tsx'

const STATUS_MS = 10_000
const SERIES_MS = 10_000

/** The first page. */
export function Home() {
  const status = useGet<Status>('/admin/system/status', {}, STATUS_MS)
  const stats = useGet<Stats>('/admin/stats')
  const keys = useGet<Keys>('/admin/keys')
  const series = useLoad('series', readSeries, SERIES_MS)
  const range = useRange('1h')
  const charts = useCharts(range, status.data?.instances === 1)
  const concerns = status.data?.concerns ?? []
  const providers = status.data?.providers ?? []
  return (
    <div class="stack">
      <PageHead title="Home" about="What needs attention, and what is served and refused.">
        {status.error && <Badge tone="bad">not reachable</Badge>}
      </PageHead>
      <ProblemNote error={status.error ?? charts.error} />
      {status.error && (
        <Stale at={status.readAt} retry={() => [status, series, charts].map(({ reload }) => reload())} />
      )}
      {status.data && <AttentionCard of={status.data.attention} />}
      <FirstSteps />
      <TopClients />
      <Figures status={status.data} stats={stats.data} series={series.data} />
      <RangeChoice range={range} />
      <div class="grid">
        {charts.data && <Charts of={charts.data} range={range} />}
        <Card title="Refused and failed, by reason">
          <Errors of={charts.data} />
        </Card>
      </div>
      {charts.data && <Marks of={charts.data.marks} />}
      <div class="grid">
        {concerns.length > 0 && <Concerns of={concerns} />}
        {providers.length > 0 && <ProviderStates of={providers} />}
        <ServerCard status={status.data} keys={keys.data} />
        {(status.data?.instances ?? 1) > 1 && <Instances />}
        <Jobs />
      </div>
    </div>
  )
}

interface FiguresProps {
  status?: Status
  stats?: Stats
  series?: ChartSeries
}

const Figures = ({ status, stats, series }: FiguresProps) => (
  <dl class="card figures">
    <Figure name="Tokens per second" value={rate(series)} under="last minute" />
    <Figure name="Token p99" value={worst(series)} under="last minute" />
    <Figure
      name="Live tokens, 24 h"
      value={stats && compact(stats.active_tokens_24h)}
      under={stats && `${compact(stats.revoked_tokens)} revoked`}
    />
    <Figure
      name="Clients"
      value={stats && compact(stats.clients)}
      under={stats && quantity(stats.users, 'user', 'users', compact)}
    />
    <Figure name="Database" value={sizeOf(status)} under={growthOf(status)} />
    <Figure
      name="Locked out"
      value={status && number(status.lockouts ?? 0)}
      under={<a href={href(['lockouts'])}>addresses and accounts</a>}
    />
  </dl>
)

function ServerCard({ status, keys }: { status?: Status; keys?: Keys }) {
  const current = keys?.keys.find((key) => key.status === 'current')
  return (
    <Card title="This server">
      <Facts
        of={[
          ['Version', status && `${status.version} (${status.commit})`],
          ['Up for', status && span(status.uptime_secs)],
          ['Engines', status && enginesOf(status)],
          ['Queues', status && queuesOf(status)],
          ['Headroom', status && headroomOf(status)],
          [
            'Signing key',
            current && (
              <a key="key" href={href(['keys'])}>
                <code>{current.kid.slice(0, 12)}</code>, <Time at={current.created_at} />
              </a>
            ),
          ],
          [
            'Last purge',
            status && <Time key="purge" at={lastOf(status.purges)} or="none recorded: run service purge every day" />,
          ],
        ]}
      />
    </Card>
  )
}

/** The instances on the database, and in what they differ. */
const Instances = () => (
  <TableCard<InstanceAnswer>
    title="Instances"
    of={useGet('/admin/instances', {}, STATUS_MS)}
    keyOf={({ host, address, started_at }) => `${host} ${address} ${started_at}`}
    columns={INSTANCE_COLUMNS}
  />
)
const INSTANCE_COLUMNS: readonly Column<InstanceAnswer>[] = [
  {
    title: 'Instance',
    cell: ({ host, address, differs }) => (
      <>
        <span class="main">
          {host} <code>{address}</code>
        </span>
        {differs.length > 0 && <Badge tone="bad">differs: {differs.join(', ')}</Badge>}
      </>
    ),
  },
  { title: 'Version', kind: 'tight', cell: ({ version }) => version },
  { title: 'Since', kind: 'tight', cell: ({ started_at }) => <Time at={started_at} /> },
  { title: 'Threads', kind: 'number', cell: ({ threads }) => number(threads) },
]

const enginesOf = ({ engines }: Status) =>
  Object.entries(engines)
    .map(([name, engine]) => `${name} ${engine}`)
    .join(', ')

const Figure = ({ name, value, under }: { name: string; value?: string; under?: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>
      {value ?? '…'}
      <small>{under ?? '\u00a0'}</small>
    </dd>
  </div>
)

const perSecond = (value: number) => compact(value < 1 ? Number(value.toPrecision(2)) : Math.round(value * 10) / 10)

function Charts({ of: { queues, marks, ...of }, range }: { of: Charted; range: RangeName }) {
  const shared = { times: of.times, marks, seconds: RANGES[range] }
  return (
    <>
      <Card title="Tokens per second, by grant">
        <Chart label="Tokens per second, by grant" {...shared} lines={of.tokens} format={perSecond} />
      </Card>
      <Card title="Refused per second, by reason">
        <Chart label="Refused per second, by reason" {...shared} lines={of.refusals} format={perSecond} />
      </Card>
      <Card title="Token endpoint">
        <Chart label="Latency of the token endpoint" {...shared} lines={of.latencies} format={latency} />
      </Card>
      {queues && (
        <Card title="Queued jobs of this process">
          <Chart
            label="Maximum of queued jobs, by queue"
            times={queues.times}
            lines={queues.queues}
            format={(value) => compact(Math.round(value))}
          />
        </Card>
      )}
    </>
  )
}

function Errors({ of }: { of?: Charted }) {
  if (!of) return <p class="body soft">Reading…</p>
  if (of.errors.length === 0)
    return <p class="body soft">None. Refused and failed requests are counted here by their reason.</p>
  const most = of.errors[0]?.[1] ?? 1
  return (
    <ol class="bars">
      {of.errors.slice(0, 8).map(([reason, count]) => (
        <li key={reason}>
          <code>{reason}</code>
          <span class="number">{number(count)}</span>
          <i style={{ width: `${(count / most) * 100}%` }} />
        </li>
      ))}
    </ol>
  )
}

const lastOf = (purges: Status['purges'] = []) =>
  purges
    .map(({ finished_at }) => finished_at)
    .sort()
    .at(-1)

const LAST = 6
const rate = (series?: ChartSeries) => {
  if (!series) return undefined
  const sums = series.tokens.flatMap(({ values }) => values.slice(-LAST))
  const total = sums.reduce<number>((sum, each) => sum + (each ?? 0), 0)
  const average = total / Math.max(1, Math.min(LAST, series.times.length))
  return compact(average < 10 ? Math.round(average * 10) / 10 : Math.round(average))
}
const worst = (series?: ChartSeries) => {
  const p99 = series?.latencies.find(({ name }) => name === 'p99')?.values.slice(-LAST) ?? []
  const known = p99.filter((each) => each !== null)
  return series && (known.length > 0 ? latency(Math.max(...known)) : 'no traffic')
}
const queuesOf = ({ lanes }: Status) => {
  const waiting = Object.entries(lanes).map(([name, { waiting }]) => `${name} ${waiting}`)
  return waiting.length > 0 ? `${waiting.join(', ')} waiting` : 'none'
}

/** The used share of the capacity, and the component that becomes the bottleneck first. */
function headroomOf({ headroom: { use, ceiling_per_s, source, busiest, parts } }: Status): string {
  const part = busiest === undefined ? '' : `busiest part: ${busiest}, ${percent(parts[busiest] ?? 0)}`
  if (use === undefined || ceiling_per_s === undefined) return part || 'unknown until there is traffic'
  const from = source === 'report' ? 'as benchmarked' : 'estimated from traffic'
  return `${percent(use)} of ${compact(Math.round(ceiling_per_s))} requests a second in use, ${from}; ${part}`
}
const percent = (share: number) => `${Math.round(share * 100)} %`

const sizeOf = (status?: Status) => {
  const size = status?.storage?.bytes
  return size === undefined ? undefined : formatBytes(size)
}

/** The growth of the database since this page was first opened in this tab. */
function growthOf(status?: Status): string | undefined {
  const size = status?.storage?.bytes
  if (size === undefined) return undefined
  const KEY = 'service.database'
  const [at = 0, first = 0] = (sessionStorage.getItem(KEY) ?? '').split(' ').map(Number)
  if (!at) {
    sessionStorage.setItem(KEY, `${Date.now()} ${size}`)
    return 'growth: known after a minute'
  }
  const hours = (Date.now() - at) / 3_600_000
  if (hours < 1 / 60) return 'growth: known after a minute'
  const perDay = ((size - first) / hours) * 24
  return perDay <= 0 ? 'not growing' : `+${formatBytes(perDay)} a day`
}
