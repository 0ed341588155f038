// Home: health, traffic and unsafe settings.
import type { ComponentChildren } from 'preact'
import { get } from '../lib/api.ts'
import { compact, formatBytes, latency, number, quantity, span } from '../lib/format.ts'
import { useLoad } from '../lib/load.ts'
import { href } from '../lib/router.ts'
import { type ChartSeries, readSeries } from '../lib/series.ts'
import type { Keys, Stats, Status } from '../lib/types.ts'
import { Chart } from '../parts/chart.tsx'
import { Badge, Card, Facts, PageHead, ProblemNote, Time } from '../parts/text.tsx'

const STATUS_MS = 10_000
const SERIES_MS = 10_000

/** The first page. */
export function Home() {
  const status = useLoad('status-live', () => get<Status>('/admin/system/status'), STATUS_MS)
  const stats = useLoad('stats', () => get<Stats>('/admin/stats'))
  const keys = useLoad('keys', () => get<Keys>('/admin/keys'))
  const series = useLoad('series', readSeries, SERIES_MS)
  const concerns = status.data?.concerns ?? []
  const providers = status.data?.providers ?? []
  const isUnsafe = concerns.some(({ severity }) => severity === 'bad')
  return (
    <div class="stack">
      <PageHead title="Home" about="The last hour of this process.">
        <Health status={status.data} error={status.error} />
      </PageHead>
      <ProblemNote error={status.error ?? series.error} />
      {isUnsafe && <Concerns of={concerns} />}
      <Figures status={status.data} stats={stats.data} series={series.data} />
      <div class="grid">
        {series.data && <Charts of={series.data} />}
        <Card title="Refused and failed, by reason">
          <Errors of={series.data} />
        </Card>
      </div>
      <div class="grid">
        {!isUnsafe && concerns.length > 0 && <Concerns of={concerns} />}
        {providers.length > 0 && <Providers of={providers} />}
        <ServerCard status={status.data} keys={keys.data} />
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
          ['Last purge', <Time key="purge" at={lastOf(status?.purges)} or="never: run service purge every day" />],
        ]}
      />
    </Card>
  )
}

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

function Health({ status, error }: { status?: Status; error?: Error }) {
  if (error) return <Badge tone="bad">not reachable</Badge>
  if (!status) return <Badge>reading</Badge>
  const ill = status.subsystems.filter(({ status }) => status === 'unhealthy')
  return ill.length === 0 ? (
    <Badge tone="good">well</Badge>
  ) : (
    <Badge tone="bad">unhealthy: {ill.map(({ name }) => name).join(', ')}</Badge>
  )
}

function Concerns({ of }: { of: NonNullable<Status['concerns']> }) {
  return (
    <Card title="Unsafe, because…">
      <ul class="concerns">
        {of.map(({ key, severity, because, instead }) => (
          <li key={key + because}>
            <span class={`dot ${severity}`} />
            <div>
              {because} <code class="soft">{key}</code>
              <div class="soft small">Instead: {instead}</div>
            </div>
          </li>
        ))}
      </ul>
    </Card>
  )
}

const USES: Readonly<Record<NonNullable<Status['providers']>[number]['use'], string>> = {
  sign_in: 'for sign-in',
  assertions: 'for assertions',
  connections: 'for connections',
}

/** The upstream providers, with the reason why one cannot be used and the last failure of each. */
function Providers({ of }: { of: NonNullable<Status['providers']> }) {
  return (
    <Card title="Upstream providers">
      <ul class="concerns">
        {of.map(({ slug, use, issuer, issuer_found, usable, keys, reason, since, last_failure }) => (
          <li key={`${use} ${slug}`}>
            <span class={`dot ${usable === false ? 'bad' : 'good'}`} />
            <div>
              <b>{slug}</b> {USES[use]} <code class="soft">{issuer}</code>
              {usable && <div class="soft small">It can be used; it publishes {quantity(keys ?? 0, 'key')}.</div>}
              {usable === false && (
                <div class="small">
                  {since ? (
                    <>
                      Its keys cannot be fetched since <Time at={since} />:{' '}
                    </>
                  ) : (
                    'It cannot be used: '
                  )}
                  <code>{reason ?? 'no keys'}</code>
                  {issuer_found !== undefined && issuer_found !== issuer && (
                    <>
                      . Its metadata names the issuer <code>{issuer_found}</code>
                    </>
                  )}
                </div>
              )}
              {last_failure && (
                <div class="soft small">
                  Last failure <Time at={last_failure.at} />: <code>{last_failure.reason}</code>
                  {last_failure.found !== undefined && (
                    <>
                      , expected <code>{last_failure.expected}</code>, found <code>{last_failure.found}</code>
                    </>
                  )}
                </div>
              )}
            </div>
          </li>
        ))}
      </ul>
    </Card>
  )
}

const Charts = ({ of: { times, tokens, latencies, queues } }: { of: ChartSeries }) => (
  <>
    <Card title="Tokens per second, by grant">
      <Chart
        label="Tokens per second, by grant"
        times={times}
        lines={tokens}
        format={(value) => compact(Math.round(value * 10) / 10)}
      />
    </Card>
    <Card title="Token endpoint">
      <Chart label="Latency of the token endpoint" times={times} lines={latencies} format={latency} />
    </Card>
    <Card title="Queued jobs">
      <Chart
        label="Maximum of queued jobs, by queue"
        times={times}
        lines={queues}
        format={(value) => compact(Math.round(value))}
      />
    </Card>
  </>
)

function Errors({ of }: { of?: ChartSeries }) {
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
