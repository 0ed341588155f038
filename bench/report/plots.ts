// Plots as SVG, so that a report is one file that needs no script and no network.
import { html, type Markup } from '../../src/lib/html.ts'
import { whole } from './figures.ts'

// About as wide as a phone: drawn at this width, its text has the size of the text around it.
const WIDTH = 340
const HEIGHT = 230
const EDGE = { left: 44, right: 48, top: 22, bottom: 38 }
/** Smallest distance between the names at the ends of two lines. */
const NAME_GAP = 14

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
  label: string
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

/** Line plot with a linear x axis and a logarithmic y axis. `label` says in words what it shows. */
export function linePlot({ lines, bound, mark, xName, yName, label }: LinePlot): Markup {
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
  const [left, right, bottom] = [EDGE.left, WIDTH - EDGE.right, HEIGHT - EDGE.bottom]
  const drawn = lines.map((line) => ({ ...line, points: line.points.filter(({ y }) => y > 0) }))
  const ends = spread(drawn.map(({ points }) => atY(points.at(-1)?.y ?? bound.y)))
  return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${label}">
<rect class="missed" x="${left}" y="${EDGE.top}" width="${right - left}" height="${Math.max(0, atY(bound.y) - EDGE.top)}"/>
${decades.map((y) => html`<line class="grid" x1="${left}" x2="${right}" y1="${atY(y)}" y2="${atY(y)}"/><text class="end" x="${left - 6}" y="${atY(y) + 4}">${short(y)}</text>`)}
${steps(mostX).map((x) => html`<line class="grid" x1="${atX(x)}" x2="${atX(x)}" y1="${EDGE.top}" y2="${bottom}"/><text class="middle" x="${atX(x)}" y="${bottom + 15}">${short(x)}</text>`)}
<text class="middle name" x="${(left + right) / 2}" y="${HEIGHT - 5}">${xName}</text>
<text class="name" x="2" y="12">${yName}</text>
<line class="bound" x1="${left}" x2="${right}" y1="${atY(bound.y)}" y2="${atY(bound.y)}"/><text class="bound" x="${left + 4}" y="${atY(bound.y) - 4}">${bound.name}</text>
${mark && html`<line class="mark" x1="${atX(mark.x)}" x2="${atX(mark.x)}" y1="${EDGE.top}" y2="${bottom}"/><text class="${atX(mark.x) > WIDTH / 2 ? 'end' : ''}" x="${atX(mark.x) + (atX(mark.x) > WIDTH / 2 ? -4 : 4)}" y="${bottom - 6}">${mark.name}</text>`}
${drawn.map(
  ({ look, name, points }, line) =>
    html`<polyline class="${look}" points="${points
      .map(({ x, y }) => `${atX(x).toFixed(1)},${atY(y).toFixed(1)}`)
      .join(
        ' ',
      )}"/>${points.map(({ x, y }) => html`<circle class="${look}" cx="${atX(x).toFixed(1)}" cy="${atY(y).toFixed(1)}" r="3"><title>${name}: ${short(y)} at ${short(Math.round(x))}</title></circle>`)}<text class="${look}" x="${atX(points.at(-1)?.x ?? 0) + 7}" y="${((ends[line] ?? 0) + 4).toFixed(1)}">${name}</text>`,
)}
</svg>`
}

/** Heights of names beside the ends of their lines, moved apart where they would overlap. */
function spread(heights: readonly number[]): number[] {
  const placed: { line: number; y: number }[] = []
  for (const { line, y } of heights.map((y, line) => ({ line, y })).toSorted((a, b) => b.y - a.y))
    placed.push({ line, y: Math.min(y, (placed.at(-1)?.y ?? Number.POSITIVE_INFINITY) - NAME_GAP) })
  return placed.toSorted((a, b) => a.line - b.line).map(({ y }) => y)
}

export interface Bar {
  name: string
  /** Text at the end of the bar. Default: the sum of the parts. */
  label?: string
  parts: readonly { look: string; name: string; value: number }[]
}

/** Horizontal bars of stacked parts, as text and boxes: they fit every width. A value is printed at the end of each bar. */
export function barPlot(bars: readonly Bar[], unit: string): Markup {
  if (bars.length === 0) return html``
  const totalOf = ({ parts }: Bar) => parts.reduce((sum, { value }) => sum + Math.max(0, value || 0), 0)
  const most = Math.max(...bars.map(totalOf), 1e-9)
  const width = (value: number) => ((100 * Math.max(0, value || 0)) / most).toFixed(2)
  return html`<dl class="bars">${bars.map(
    (bar) =>
      html`<dt>${bar.name}</dt><dd><span class="track">${bar.parts.map((part) => html`<b class="${part.look}" style="width:${width(part.value)}%" title="${part.name}: ${short(Number(part.value.toFixed(1)))} ${unit}"></b>`)}</span><span class="value">${bar.label ?? `${grouped(totalOf(bar))} ${unit}`}</span></dd>`,
  )}</dl>`
}

const grouped = (value: number): string => (value >= 100 ? whole(value) : short(Number(value.toPrecision(3))))
