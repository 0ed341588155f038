// A report as an HTML document: one file with plots, without external resources.
import { html, Markup } from '../../src/lib/html.ts'
import { ROLES } from '../../src/telemetry/proc.ts'
import type { Sample } from '../run/sample.ts'
import { digits, whole } from './figures.ts'
import { headlineOf, measuredOf, resultName } from './headline.ts'
import { barPlot, linePlot } from './plots.ts'
import { middleRound, type Report, resultKey, type WorkResult } from './report.ts'
import { stageSentences } from './stages.ts'
import { describeRun, verdict } from './table.ts'

const STYLE = `
:root{color-scheme:light dark;--ink:#171a21;--soft:#565d6b;--line:#e1e4ea;--page:#f3f5f8;--card:#fff;--front:#2456d3;--crypto:#b5491a;--store:#14754a;--password:#8a4fc2;--other:#7b8494;--database:#8a6a00;--bad:#b3232a;--missed:#b3232a14;--rest:#c9d6f7}
@media (prefers-color-scheme:dark){:root{--ink:#eceef3;--soft:#a6aebd;--line:#2d333e;--page:#0e1015;--card:#171a21;--front:#8db2ff;--crypto:#ffa26f;--store:#5fd6a2;--password:#cda3ff;--other:#8b94a5;--database:#f0cf5a;--bad:#ff8d8f;--missed:#ff8d8f1c;--rest:#31436b}}
*{box-sizing:border-box}
body{overflow-wrap:anywhere;margin:0;padding:2rem 1rem;background:var(--page);color:var(--ink);font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:72rem;margin:auto}
section{background:var(--card);border:1px solid var(--line);border-radius:14px;padding:1.25rem clamp(.9rem,3vw,1.5rem);margin:1rem 0}
h1{font-size:1.6rem;line-height:1.25;margin:0}h2{font-size:1.15rem;margin:0 0 .75rem}h3{font-size:.95rem;margin:0 0 .25rem}
pre{white-space:pre-wrap;overflow-wrap:anywhere;color:var(--soft);font:.8rem/1.5 ui-monospace,Menlo,Consolas,monospace;margin:.5rem 0 0}
li{margin:.3rem 0}ul{padding-left:1.25rem}
.verdict{margin:0;display:grid;grid-template-columns:minmax(8rem,max-content) 1fr;gap:.4rem 1.25rem}.verdict dt{font-weight:600}.verdict dd{margin:0}
.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(21rem,100%),1fr));gap:1.5rem}
svg{display:block;width:100%;max-width:30rem;height:auto;font:12px system-ui,sans-serif}
text{fill:var(--ink)}text.name{fill:var(--soft)}.end{text-anchor:end}.middle{text-anchor:middle}
.grid{stroke:var(--line)}.missed{fill:var(--missed)}.bound{stroke:var(--bad);stroke-dasharray:5 4}text.bound{stroke:none;fill:var(--bad)}.mark{stroke:var(--store);stroke-width:2;stroke-dasharray:2 3}
polyline{fill:none;stroke-width:2}
.bars{margin:0;display:grid;grid-template-columns:fit-content(22rem) 1fr;gap:.45rem 1rem;align-items:center}.bars dt{text-align:right;font-size:.9rem}.bars dd{margin:0;display:grid;grid-template-columns:1fr minmax(6.5rem,max-content);gap:.6rem;align-items:center}
.track{display:flex;height:1.1rem}.track b{display:block;height:100%}.track b:last-of-type{border-radius:0 4px 4px 0}.value{font-size:.85rem;font-variant-numeric:tabular-nums}
${[...ROLES, 'database', 'bad', 'rest'].map((look) => `b.${look},i.${look}{background:var(--${look})}`).join('')}
polyline.p50{stroke:var(--front)}.p50:not(polyline){fill:var(--front)}polyline.p99{stroke:var(--crypto)}.p99:not(polyline){fill:var(--crypto)}polyline.p999{stroke:var(--password)}.p999:not(polyline){fill:var(--password)}
i{display:inline-block;width:.8rem;height:.8rem;border-radius:3px;vertical-align:-1px;margin:0 .3rem 0 .9rem}i:first-child{margin-left:0}
.legend{margin:0 0 .75rem}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.85rem;width:100%}th,td{padding:.35rem .6rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}th:first-child,td:first-child,td:last-child,th:last-child{text-align:left}td:last-child{min-width:14rem;white-space:normal}
.soft{color:var(--soft);font-size:.9rem;margin:.25rem 0 .75rem}
.scale{border-top:2px dashed var(--soft);margin:.75rem 0;padding-top:.5rem}
@media (max-width:40rem){body{padding:1rem .5rem}.verdict,.bars{grid-template-columns:1fr;gap:.15rem}.verdict dd,.bars dd{margin-bottom:.6rem}.bars dt{text-align:left}}
`

/** Renders a report as one HTML document: what it means first, then plots, then the figures and how they were measured. */
export function renderHtml(report: Report): string {
  const measured = measuredOf(report)
  const climbed = report.results.filter(({ store, ladder }) => store !== 'none' && ladder.length > 0)
  const { slo_p99_ms: sloMs } = report.settings
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>service bench ${report.created_at}</title><style>${new Markup(STYLE)}</style></head><body><main>
<h1>service ${report.version}: benchmark report</h1>
<p class="soft">${report.created_at} · ${report.commit}${report.partial && ' · interrupted'}${report.settings.smoke && ' · smoke run: the results say nothing about speed'}</p>
${headlineSection(report)}
${ratesSection(report, sloMs)}
${
  climbed.length > 0 &&
  html`<section><h2>Latency at each rate</h2><p class="soft">Requests are sent at a fixed rate (open loop), and the latency of each is measured from the time when it was due. The objective is missed in the shaded area.</p>
<div class="plots">${climbed.map((result) => html`<div><h3>${resultName(result, report)}</h3>${latencyPlot(result, sloMs)}</div>`)}</div></section>`
}
<section><h2>CPU time of an answer, by thread</h2><p class="legend">${[...ROLES, 'database'].map((role) => html`<i class="${role}"></i>${role}`)}</p>
${costPlots(measured)}</section>
<section><h2>Growth of the database by an answer</h2>
${barPlot(
  measured.map(({ sample, name }) => ({
    name,
    parts: [{ look: 'store', name: 'growth', value: sample.database_bytes ?? 0 }],
  })),
  'bytes',
)}</section>
<section><h2>Every result in words</h2><ul>${verdict(report).map((sentence) => html`<li>${sentence}</li>`)}</ul></section>
<section><h2>Where a token waits</h2><ul>${stageSentences(report).map((sentence) => html`<li>${sentence}</li>`)}</ul></section>
<section><h2>All figures</h2><div class="wide" role="region" aria-label="All figures" tabindex="0">${figures(report.results)}</div></section>
<section><h2>How it was measured</h2><pre>${describeRun(report)}</pre></section>
</main></body></html>
`
  return page.text
}

function headlineSection(report: Report): Markup | false {
  const headline = headlineOf(report)
  if (!headline) return false
  const rows = [
    ['This machine serves', headline.serves],
    ['What gives way first', headline.limit],
    ['What to change', headline.change],
  ].filter(([, text]) => text !== '')
  return html`<section><h2>Verdict</h2><dl class="verdict">${rows.map(([name, text]) => html`<dt>${name}</dt><dd>${text}</dd>`)}</dl></section>`
}

/** The rate of each workload within the objective, and its maximum rate; the maximum rates of other servers of the run. */
function ratesSection(report: Report, sloMs: number): Markup {
  const { results } = report
  const bars = results.flatMap((result) => {
    const sample = middleRound(result)
    if (!sample) return []
    const [most, kept] = [sample.per_s, result.knee?.offered_per_s]
    const isOther = result.store === 'none'
    const within = kept ? [{ look: 'front', name: `within ${sloMs} ms`, value: kept }] : []
    const rest = { look: isOther ? 'other' : 'rest', name: 'maximum', value: Math.max(0, most - (kept ?? 0)) }
    const label = kept ? `${whole(kept)} of ${whole(most)}/s` : `${whole(most)}/s`
    return [{ name: isOther ? resultKey(result) : resultName(result, report), parts: [...within, rest], label }]
  })
  const hasOthers = results.some(({ store }) => store === 'none')
  return html`<section><h2>Requests per second</h2><p class="legend"><i class="front"></i>with p99 within ${sloMs} ms <i class="rest"></i>maximum, whatever the latency${hasOthers && html` <i class="other"></i>maximum of another server`}</p>${barPlot(bars, 'requests/s')}</section>`
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

function latencyPlot({ ladder, knee }: WorkResult, sloMs: number): Markup {
  const line = (name: 'p50' | 'p99' | 'p999') => ({
    name: name === 'p999' ? 'p99.9' : name,
    look: name,
    points: ladder.map((sample) => ({ x: sample.offered_per_s ?? 0, y: sample.latency_ms[name] ?? 0 })),
  })
  return linePlot({
    lines: [line('p50'), line('p99'), line('p999')],
    bound: { y: sloMs, name: `${sloMs} ms` },
    mark: knee ? { x: knee.offered_per_s ?? 0, name: `knee ${whole(knee.offered_per_s)}/s` } : undefined,
    xName: 'requests/s',
    yName: 'ms',
    label: knee
      ? `p99 stays within ${sloMs} ms up to ${whole(knee.offered_per_s)}/s`
      : `p99 exceeds ${sloMs} ms at every rate`,
  })
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
