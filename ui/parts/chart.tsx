// Charts: lines over time on a canvas, and the same numbers as a table for screen readers.
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'

export interface ChartLine {
  name: string
  values: (number | null)[]
}
interface ChartProps {
  label: string
  /** Epoch seconds. */
  times: number[]
  lines: readonly ChartLine[]
  format: (value: number) => string
}
const HEIGHT = 168
const HOUR = 3600
const LEAST = 600
/** The minimum number of points for a line. */
const FEW = 3
const COLORS = 6
const dark = window.matchMedia('(prefers-color-scheme: dark)')
const nameOf = (i: number) => `--line-${i % COLORS}`
const cssColor = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name)
const colorOf = (i: number) => cssColor(nameOf(i))
const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const clock = (at: number) => CLOCK.format(at * 1000)
const axisOf = () => ({
  stroke: cssColor('--soft'),
  grid: { stroke: cssColor('--line'), width: 1 },
  ticks: { show: false },
  font: '11px system-ui',
})

/** A chart with its legend and its table. */
export function Chart({ label, times, lines, format }: ChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const names = lines.map(({ name }) => name).join('\n')
  const data = [times, ...lines.map(({ values }) => values)] as uPlot.AlignedData
  const chart = useRef<uPlot | undefined>(undefined)

  useEffect(() => {
    const at = place.current
    if (!at) return
    const draw = () => {
      chart.current?.destroy()
      chart.current = new uPlot(optionsFor(at.clientWidth, lines, format, times.length < FEW), data, at)
    }
    draw()
    const resized = new ResizeObserver(() => chart.current?.setSize({ width: at.clientWidth, height: HEIGHT }))
    resized.observe(at)
    dark.addEventListener('change', draw)
    return () => {
      resized.disconnect()
      dark.removeEventListener('change', draw)
      chart.current?.destroy()
      chart.current = undefined
    }
  }, [names, times.length < FEW])
  useEffect(() => chart.current?.setData(data), [times, lines])

  return (
    <figure aria-label={label} class="figure">
      <div class="chart-head" aria-hidden="true">
        {lines.map(({ name, values }, i) => (
          <span key={name}>
            <i style={{ background: `var(${nameOf(i)})` }} />
            {name} <b>{format(values.at(-1) ?? 0)}</b>
          </span>
        ))}
      </div>
      <div ref={place} class="chart" aria-hidden="true" />
      <details class="small">
        <summary>As a table</summary>
        <div class="table numbers">
          <NumbersTable {...{ label, times, lines, format }} />
        </div>
      </details>
    </figure>
  )
}

/** The time range: the last hour, or less if the server started later. */
function rangeFrom(first: number | null): [number, number] {
  const now = Date.now() / 1000
  return [Math.max(now - HOUR, Math.min(first ?? now, now - LEAST)), now]
}

const optionsFor = (
  width: number,
  lines: readonly ChartLine[],
  format: (value: number) => string,
  few: boolean,
): uPlot.Options => ({
  width,
  height: HEIGHT,
  legend: { show: false },
  cursor: { y: false, points: { size: 6 } },
  scales: {
    x: { time: true, range: (_, first) => rangeFrom(first) },
    y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] },
  },
  axes: [
    { ...axisOf(), size: 26, space: 70, values: (_, ticks) => ticks.map(clock) },
    {
      ...axisOf(),
      size: 58,
      values: (_, ticks) => ticks.map(format).map((text, i, all) => (text === all[i - 1] ? '' : text)),
    },
  ],
  series: [
    {},
    ...lines.map(({ name }, i) => ({
      label: name,
      stroke: colorOf(i),
      width: 1.5,
      fill: i === 0 ? `${colorOf(i)}14` : undefined,
      points: { show: few, size: 5 },
    })),
  ],
})

const MINUTE = 60
/** One row for every minute, because a row for every ten seconds would be too many for an hour. */
function NumbersTable({ label, times, lines, format }: ChartProps) {
  const rows = times.map((at, i) => ({ at, i })).filter(({ at, i }) => at % MINUTE === 0 || i === times.length - 1)
  return (
    <table aria-label={label}>
      <thead>
        <tr>
          <th scope="col">Time</th>
          {lines.map(({ name }) => (
            <th key={name} scope="col" class="number">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.reverse().map(({ at, i }) => (
          <tr key={at}>
            <td>{clock(at)}</td>
            {lines.map(({ name, values }) => (
              <td key={name} class="number">
                {format(values[i] ?? 0)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
