// A report as an HTML document: one file with plots, without external resources.
import { html, Markup } from '../../src/lib/html.ts'
import { ROLES } from '../../src/telemetry/proc.ts'
import type { Sample } from '../run/sample.ts'
import { digits } from './figures.ts'
import { barPlot, linePlot } from './plots.ts'
import { middleRound, type Report, resultKey, type WorkResult } from './report.ts'
import { describeRun, verdict } from './table.ts'

const STYLE = `
:root{color-scheme:light dark;--ink:#171a21;--soft:#565d6b;--line:#e1e4ea;--page:#f3f5f8;--card:#fff;--front:#2456d3;--crypto:#d3622b;--store:#1c8a5a;--password:#8a4fc2;--other:#98a0ad;--database:#b8930e;--bad:#b3232a}
@media (prefers-color-scheme:dark){:root{--ink:#eceef3;--soft:#a6aebd;--line:#2d333e;--page:#0e1015;--card:#171a21;--front:#8db2ff;--crypto:#ffa26f;--store:#5fd6a2;--password:#cda3ff;--other:#6d7686;--database:#f0cf5a;--bad:#ff8d8f}}
*{box-sizing:border-box}
body{margin:0;padding:2rem 1rem;background:var(--page);color:var(--ink);font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:72rem;margin:auto}
section{background:var(--card);border:1px solid var(--line);border-radius:14px;padding:1.25rem 1.5rem;margin:1rem 0;overflow-x:auto}
h1{font-size:1.6rem;margin:0}h2{font-size:1.15rem;margin:0 0 .75rem}h3{font-size:.95rem;margin:0 0 .25rem}
pre{white-space:pre-wrap;color:var(--soft);font:.8rem/1.5 ui-monospace,Menlo,Consolas,monospace;margin:.5rem 0 0}
li{margin:.3rem 0}
.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(22rem,1fr));gap:1.25rem}
svg{width:100%;height:auto;font:11px system-ui,sans-serif}svg.wide{max-width:60rem}
text{fill:var(--ink)}text.name{fill:var(--soft)}.end{text-anchor:end}.middle{text-anchor:middle}
.grid{stroke:var(--line)}.bound{stroke:var(--bad);stroke-dasharray:5 4}text.bound{stroke:none;fill:var(--bad)}.mark{stroke:var(--store);stroke-dasharray:2 3}
polyline{fill:none;stroke-width:2}
${ROLES.map((role) => `rect.${role},i.${role}{fill:var(--${role});background:var(--${role})}`).join('')}
rect.database,i.database{fill:var(--database);background:var(--database)}
polyline.p50{stroke:var(--front)}circle.p50{fill:var(--front)}polyline.p99{stroke:var(--crypto)}circle.p99{fill:var(--crypto)}polyline.p999{stroke:var(--password)}circle.p999{fill:var(--password)}
i{display:inline-block;width:.8rem;height:.8rem;border-radius:3px;vertical-align:-1px;margin:0 .3rem 0 .9rem}i.p50{background:var(--front)}i.p99{background:var(--crypto)}i.p999{background:var(--password)}
table{border-collapse:collapse;font-size:.85rem;width:100%}th,td{padding:.35rem .6rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}th:first-child,td:first-child,td:last-child,th:last-child{text-align:left}td:last-child{min-width:14rem;white-space:normal}
.soft{color:var(--soft);font-size:.9rem;margin:.25rem 0 0}
.scale{border-top:2px dashed var(--soft);margin:.5rem 0;padding-top:.5rem;max-width:60rem}
`

/** Renders a report as one HTML document. */
export function renderHtml(report: Report): string {
  const ours = report.results.filter(({ store }) => store !== 'none')
  const measured = ours.flatMap((result) => {
    const sample = middleRound(result)
    return sample ? [{ result, sample, name: nameOf(result) }] : []
  })
  const climbed = ours.filter(({ ladder }) => ladder.length > 0)
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>service bench ${report.created_at}</title><style>${new Markup(STYLE)}</style></head><body><main>
<h1>service ${report.version}: benchmark report</h1>
<p class="soft">${report.created_at} · ${report.commit}${report.partial && ' · interrupted'}${report.settings.smoke && ' · smoke run: the results say nothing about speed'}</p>
<section><h2>Conclusions</h2><ul>${verdict(report).map((sentence) => html`<li>${sentence}</li>`)}</ul></section>
<section><h2>Results</h2>${figures(report.results)}</section>
${
  climbed.length > 0 &&
  html`<section><h2>Latency by rate</h2><p class="soft">Open loop: requests are sent at a fixed rate, and the latency of each is measured from the time when it was due.<i class="p50"></i>p50<i class="p99"></i>p99<i class="p999"></i>p99.9</p>
<div class="plots">${climbed.map((result) => html`<div><h3>${nameOf(result)}</h3>${latencyPlot(result, report.settings.slo_p99_ms)}</div>`)}</div></section>`
}
<section><h2>CPU time per answer, by thread</h2><p class="soft">${[...ROLES, 'database'].map((role) => html`<i class="${role}"></i>${role}`)}</p>
${costPlots(measured)}</section>
<section><h2>Growth of the database per answer</h2>
${barPlot(
  measured.map(({ sample, name }) => ({
    name,
    parts: [{ look: 'store', name: 'growth', value: sample.database_bytes ?? 0 }],
  })),
  'bytes',
)}</section>
${rates(report.results)}
<section><h2>Method</h2><pre>${describeRun(report)}</pre></section>
</main></body></html>
`
  return page.text
}

/** A password costs a hundred times as much as a token: on one scale, the bars of tokens would be invisible. */
const HEAVY_US = 3000

interface Named {
  name: string
  sample: Sample
}

/** CPU time by thread. Workloads with a high cost have a scale of their own, with a note. */
function costPlots(measured: readonly Named[]): Markup {
  const cost = ({ sample }: Named) => sample.cpu_us.total ?? 0
  const most = (all: readonly Named[]) =>
    digits(Math.max(...all.map((each) => cost(each) + (each.sample.cpu_us.database ?? 0))), 0)
  const light = measured.filter((each) => cost(each) < HEAVY_US)
  const heavy = measured.filter((each) => cost(each) >= HEAVY_US)
  const plotOf = (all: readonly Named[]) =>
    barPlot(
      all.map(({ name, sample }) => ({
        name,
        parts: [...ROLES, 'database' as const].map((role) => ({
          look: role,
          name: role,
          value: sample.cpu_us[role] ?? 0,
        })),
      })),
      'us',
    )
  return html`${plotOf(light)}${
    light.length > 0 &&
    heavy.length > 0 &&
    html`<p class="soft scale">DIFFERENT SCALE below: the longest bar above is ${most(light)} us, the longest bar below ${most(heavy)} us.</p>`
  }${plotOf(heavy)}`
}

const nameOf = (result: WorkResult): string => resultKey({ ...result, server: '' })

function latencyPlot({ ladder, knee }: WorkResult, sloMs: number): Markup {
  const line = (name: 'p50' | 'p99' | 'p999') => ({
    name: name === 'p999' ? 'p99.9' : name,
    look: name,
    points: ladder.map((sample) => ({ x: sample.offered_per_s ?? 0, y: sample.latency_ms[name] ?? 0 })),
  })
  return linePlot({
    lines: [line('p50'), line('p99'), line('p999')],
    bound: { y: sloMs, name: `${sloMs} ms` },
    mark: knee ? { x: knee.offered_per_s ?? 0, name: `knee ${digits(knee.offered_per_s, 0)}/s` } : undefined,
    xName: 'requests/s',
    yName: 'ms',
  })
}

/** The maximum rates of the servers of the run, when there are several. */
function rates(results: readonly WorkResult[]): Markup | false {
  const bars = results.flatMap((result) => {
    const sample = middleRound(result)
    const look = result.store === 'none' ? 'other' : 'front'
    return sample ? [{ name: resultKey(result), parts: [{ look, name: result.server, value: sample.per_s }] }] : []
  })
  return (
    results.some(({ store }) => store === 'none') &&
    html`<section><h2>Maximum rates of all servers of this run</h2>${barPlot(bars, 'requests/s')}</section>`
  )
}

const COLUMNS: readonly [string, (sample: Sample) => string][] = [
  ['max/s', ({ per_s }) => digits(per_s, 0)],
  ['p50 ms', ({ latency_ms }) => digits(latency_ms.p50, 1)],
  ['p95', ({ latency_ms }) => digits(latency_ms.p95, 1)],
  ['p99', ({ latency_ms }) => digits(latency_ms.p99, 1)],
  ['p99.9', ({ latency_ms }) => digits(latency_ms.p999, 1)],
  ['CPU us', ({ cpu_us }) => digits(cpu_us.total, 0)],
  ['written B', ({ written_bytes, log_bytes }) => digits(log_bytes ?? written_bytes, 0)],
  ['growth B', ({ database_bytes }) => digits(database_bytes, 0)],
  ['fsyncs', ({ fsyncs }) => digits(fsyncs, 3)],
  ['sign batch', ({ lanes }) => digits(lanes['crypto']?.batch, 1)],
  ['store batch', ({ lanes }) => digits(lanes['store']?.batch, 1)],
  ['GC %', ({ gc }) => digits(gc.share === null ? null : 100 * gc.share, 1)],
  ['GC pause ms', ({ gc }) => digits(gc.pause_ms, 1)],
  ['MiB', ({ memory_mib }) => digits(memory_mib.peak, 0)],
]

const figures = (results: readonly WorkResult[]): Markup =>
  html`<table><thead><tr><th>workload</th>${COLUMNS.map(([name]) => html`<th>${name}</th>`)}<th>errors</th><th>knee/s</th><th>limited by</th></tr></thead><tbody>${results.map(
    (result) => {
      const sample = middleRound(result)
      const errors = result.rounds.reduce((sum, each) => sum + each.errors, 0)
      return html`<tr><td>${resultKey(result)}</td>${COLUMNS.map(([, show]) => html`<td>${sample ? show(sample) : '-'}</td>`)}<td>${errors}</td><td>${digits(result.knee?.offered_per_s, 0)}</td><td>${result.failed ?? sample?.bottleneck ?? '-'}</td></tr>`
    },
  )}</tbody></table>`
