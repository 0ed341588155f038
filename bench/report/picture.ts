// A picture of the rates of a report, for documents: one SVG file that follows the colour scheme of the reader.
import { html, Markup } from '../../src/lib/html.ts'
import { whole } from './figures.ts'
import { resultName } from './headline.ts'
import { middleRound, type Report, YARDSTICK } from './report.ts'

const STYLE = `
text{font:14px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;fill:#171a21}.soft{fill:#565d6b}
.service{fill:#2456d3}.rest{fill:#c9d6f7}.other{fill:#98a0ad}.end{text-anchor:end}
@media (prefers-color-scheme:dark){text{fill:#eceef3}.soft{fill:#a6aebd}.service{fill:#8db2ff}.rest{fill:#31436b}.other{fill:#6d7686}}
`
const WIDTH = 760
const LEFT = 240
const VALUE = 130
const ROW = 26
const BAR = 16
const TOP = 36

interface Bar {
  name: string
  look: string
  kept: number
  most: number
}

/** Bars of each workload: the rate within the objective and the maximum rate of the service, and the maximum rate of the other servers. */
export function renderPicture(report: Report): string {
  const { results, settings } = report
  const bars = results.flatMap((result): Bar[] => {
    const sample = middleRound(result)
    if (!sample || result.server === YARDSTICK) return []
    const isService = result.store !== 'none'
    const name = isService ? resultName(result, report).split(' · ')[0] : result.server
    return [
      {
        name: name ?? '',
        look: isService ? 'service' : 'other',
        kept: result.knee?.offered_per_s ?? 0,
        most: sample.per_s,
      },
    ]
  })
  const most = Math.max(...bars.map((bar) => Math.max(bar.most, bar.kept)))
  const width = (value: number) => ((WIDTH - LEFT - VALUE) * value) / most
  const height = TOP + bars.length * ROW + 4
  const hasKnees = bars.some(({ kept }) => kept > 0)
  const legend = hasKnees
    ? `Requests per second: with p99 within ${settings.slo_p99_ms} ms (dark), and at most (light)`
    : 'Requests per second at most'
  const picture = html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${legend}">
<style>${new Markup(STYLE)}</style>
<text class="soft" x="0" y="16">${legend}</text>
${bars.map(({ name, look, kept, most: max }, row) => {
  const y = TOP + row * ROW
  const light = look === 'service' && hasKnees ? 'rest' : look
  const value = kept > 0 ? `${whole(kept)} of ${whole(max)}/s` : `${whole(max)}/s`
  return html`<text class="end" x="${LEFT - 10}" y="${y + 13}">${name}</text><rect class="${light}" x="${LEFT}" y="${y}" width="${width(Math.max(max, kept)).toFixed(1)}" height="${BAR}" rx="2"/>${kept > 0 && html`<rect class="service" x="${LEFT}" y="${y}" width="${width(kept).toFixed(1)}" height="${BAR}" rx="2"/>`}<text x="${(LEFT + width(Math.max(max, kept)) + 8).toFixed(1)}" y="${y + 13}">${value}</text>
`
})}</svg>
`
  return picture.text
}
