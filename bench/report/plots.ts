// Plots as SVG, so that a report is one file that needs no script and no network.
import { html, type Markup } from '../../src/lib/html.ts'

const WIDTH = 460
const HEIGHT = 240
const EDGE = { left: 52, right: 14, top: 14, bottom: 34 }

export interface PlotLine {
  name: string
  /** CSS class of its colour. */
  look: string
  points: readonly { x: number; y: number }[]
}
export interface LinePlot {
  lines: readonly PlotLine[]
  /** A horizontal line: the limit. */
  bound: { y: number; name: string }
  /** A vertical line: the result. */
  mark?: { x: number; name: string }
  xName: string
  yName: string
}

/** Axis steps of round numbers from 0 to `most`. */
function steps(most: number): number[] {
  const raw = most / 4
  const power = 10 ** Math.floor(Math.log10(raw))
  const step = ([1, 2, 2.5, 5, 10].find((each) => each * power >= raw) ?? 10) * power
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step)
}
const short = (value: number): string =>
  value >= 1e6 ? `${value / 1e6}M` : value >= 10_000 ? `${value / 1000}k` : `${Number(value.toPrecision(3))}`

/** Line plot with a linear x axis and a logarithmic y axis. */
export function linePlot({ lines, bound, mark, xName, yName }: LinePlot): Markup {
  const all = lines.flatMap(({ points }) => points).filter(({ x, y }) => Number.isFinite(x) && y > 0)
  if (all.length === 0) return html``
  const mostX = Math.max(...all.map(({ x }) => x)) * 1.05
  const [low, high] = [
    Math.floor(Math.log10(Math.min(bound.y, ...all.map(({ y }) => y)))),
    Math.ceil(Math.log10(Math.max(bound.y, ...all.map(({ y }) => y)))),
  ]
  const atX = (x: number) => EDGE.left + ((WIDTH - EDGE.left - EDGE.right) * x) / mostX
  const atY = (y: number) =>
    HEIGHT - EDGE.bottom - ((HEIGHT - EDGE.top - EDGE.bottom) * (Math.log10(y) - low)) / Math.max(1, high - low)
  const decades = Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i))
  return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${yName} against ${xName}">
${decades.map((y) => html`<line class="grid" x1="${EDGE.left}" x2="${WIDTH - EDGE.right}" y1="${atY(y)}" y2="${atY(y)}"/><text class="end" x="${EDGE.left - 6}" y="${atY(y) + 4}">${short(y)}</text>`)}
${steps(mostX).map((x) => html`<line class="grid" x1="${atX(x)}" x2="${atX(x)}" y1="${EDGE.top}" y2="${HEIGHT - EDGE.bottom}"/><text class="middle" x="${atX(x)}" y="${HEIGHT - EDGE.bottom + 15}">${short(x)}</text>`)}
<text class="middle name" x="${(EDGE.left + WIDTH - EDGE.right) / 2}" y="${HEIGHT - 3}">${xName}</text>
<text class="name" x="2" y="11">${yName}</text>
<line class="bound" x1="${EDGE.left}" x2="${WIDTH - EDGE.right}" y1="${atY(bound.y)}" y2="${atY(bound.y)}"/><text class="end bound" x="${WIDTH - EDGE.right}" y="${atY(bound.y) - 4}">${bound.name}</text>
${mark && html`<line class="mark" x1="${atX(mark.x)}" x2="${atX(mark.x)}" y1="${EDGE.top}" y2="${HEIGHT - EDGE.bottom}"/><text class="end" x="${atX(mark.x) - 4}" y="${EDGE.top + 10}">${mark.name}</text>`}
${lines.map(
  ({ look, name, points }) =>
    html`<polyline class="${look}" points="${points
      .filter(({ y }) => y > 0)
      .map(({ x, y }) => `${atX(x).toFixed(1)},${atY(y).toFixed(1)}`)
      .join(
        ' ',
      )}"/>${points.filter(({ y }) => y > 0).map(({ x, y }) => html`<circle class="${look}" cx="${atX(x).toFixed(1)}" cy="${atY(y).toFixed(1)}" r="3"><title>${name}: ${short(y)} at ${short(Math.round(x))}</title></circle>`)}`,
)}
</svg>`
}

export interface Bar {
  name: string
  parts: readonly { look: string; name: string; value: number }[]
}
const MAX_NAME = 42
const BAR = { height: 18, gap: 8, left: 250, width: 700 }

/** Horizontal bars of stacked parts. */
export function barPlot(bars: readonly Bar[], unit: string): Markup {
  if (bars.length === 0) return html``
  const totals = bars.map(({ parts }) => parts.reduce((sum, { value }) => sum + Math.max(0, value || 0), 0))
  const most = Math.max(...totals, 1e-9)
  const scale = (BAR.width - BAR.left - 70) / most
  const height = bars.length * (BAR.height + BAR.gap)
  return html`<svg class="wide" viewBox="0 0 ${BAR.width} ${height}" role="img" aria-label="${unit}">
${bars.map(({ name, parts }, row) => {
  const y = row * (BAR.height + BAR.gap)
  let x = BAR.left
  return html`<text class="end" x="${BAR.left - 8}" y="${y + 13}">${name.length > MAX_NAME ? `${name.slice(0, MAX_NAME - 1)}…` : name}<title>${name}</title></text>
${parts.map((part) => {
  const [from, width] = [x, Math.max(0, part.value || 0) * scale]
  x += width
  return html`<rect class="${part.look}" x="${from.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${BAR.height}"><title>${part.name}: ${short(Number(part.value.toFixed(1)))} ${unit}</title></rect>`
})}<text x="${x + 6}" y="${y + 13}">${short(Number((totals[row] ?? 0).toPrecision(3)))}</text>`
})}
</svg>`
}
