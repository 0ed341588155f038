// Charts: lines over time on a canvas, and the same numbers as a table for screen readers.
import { useEffect, useRef, useState } from 'preact/hooks'
import type uPlot from 'uplot'

export interface ChartLine {
  name: string
  values: (number | null)[]
}
/** A change that may explain what a line does. */
export interface ChartMark {
  /** Epoch seconds. */
  at: number
  kind: 'deploy' | 'key' | 'configuration'
  text: string
}
interface ChartProps {
  label: string
  /** Epoch seconds. */
  times: number[]
  lines: readonly ChartLine[]
  format: (value: number) => string
  /** Seconds that the chart covers. */
  seconds?: number
  marks?: readonly ChartMark[]
}
const HEIGHT = 168
const HOUR = 3600
const DAY = 24 * HOUR
const LEAST = 600
/** The minimum number of points for a line. */
const FEW = 3
const COLORS = 6
const dark = window.matchMedia('(prefers-color-scheme: dark)')
const nameOf = (i: number) => `--line-${i % COLORS}`
const cssColor = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name)
const colorOf = (i: number) => cssColor(nameOf(i))
const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const DATE = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })
const clock = (at: number) => CLOCK.format(at * 1000)
/** A time in a chart that covers this number of seconds. */
const timeIn = (seconds: number, at: number) => (seconds > DAY ? `${DATE.format(at * 1000)} ${clock(at)}` : clock(at))
const axisOf = () => ({
  stroke: cssColor('--soft'),
  grid: { stroke: cssColor('--line'), width: 1 },
  ticks: { show: false },
  font: '11px system-ui',
})

/** A value, or that nothing was measured. */
const shown = (value: number | null | undefined, format: ChartProps['format']) => (value == null ? '–' : format(value))

/** A chart with its legend and its table. The values at the pointer, or at the place that the arrow keys chose, are in the legend. */
export function Chart(props: ChartProps) {
  const { label, times, lines, format, seconds = HOUR, marks } = props
  const place = useRef<HTMLDivElement>(null)
  const [chosen, setChosen] = useState<number>()
  const names = lines.map(({ name }) => name).join('\n')
  const data = [times, ...lines.map(({ values }) => values)] as uPlot.AlignedData
  const chart = useRef<uPlot | undefined>(undefined)
  const latest = useRef({ props, data })
  latest.current = { props, data }

  useEffect(() => {
    const at = place.current
    if (!at) return
    let isOver = false
    let end = () => {}
    // Loaded with the first chart: most pages have none.
    void import('uplot').then(({ default: Plot }) => {
      if (isOver) return
      const draw = () => {
        const now = latest.current
        chart.current?.destroy()
        const options = optionsFor(at.clientWidth, now.props, times.length < FEW)
        const hooks: uPlot.Hooks.Arrays = {
          setCursor: [({ cursor: { idx } }) => setChosen(idx ?? undefined)],
          draw: [(drawn) => drawMarks(drawn, latest.current.props.marks ?? [])],
        }
        chart.current = new Plot({ ...options, hooks }, now.data, at)
      }
      draw()
      const resized = new ResizeObserver(() => chart.current?.setSize({ width: at.clientWidth, height: HEIGHT }))
      resized.observe(at)
      dark.addEventListener('change', draw)
      end = () => {
        resized.disconnect()
        dark.removeEventListener('change', draw)
        chart.current?.destroy()
        chart.current = undefined
      }
    })
    return () => {
      isOver = true
      end()
    }
  }, [names, seconds, times.length < FEW])
  useEffect(() => chart.current?.setData(data), [times, lines, marks])

  const last = times.length - 1
  const i = Math.min(chosen ?? last, last)
  const at = times[i]
  const time = at === undefined ? 'no values yet' : timeIn(seconds, at)
  const move = (event: KeyboardEvent) => {
    const to = { ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: last }[event.key]
    const target = to === undefined ? undefined : times[Math.max(0, Math.min(to, last))]
    if (target === undefined || !chart.current) return
    event.preventDefault()
    chart.current.setCursor({ left: chart.current.valToPos(target, 'x'), top: 1 })
  }
  return (
    <figure aria-label={label} class="figure">
      <div class="chart-head" aria-hidden="true">
        {lines.map(({ name, values }, line) => (
          <span key={name}>
            <i style={{ background: `var(${nameOf(line)})` }} />
            {name} <b>{shown(values[i], format)}</b>
          </span>
        ))}
        {chosen !== undefined && <span>at {time}</span>}
      </div>
      <div
        ref={place}
        class="chart"
        role="slider"
        tabIndex={0}
        aria-label={`${label}: values by time`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, last)}
        aria-valuenow={Math.max(0, i)}
        aria-valuetext={[time, ...lines.map(({ name, values }) => `${name} ${shown(values[i], format)}`)].join(', ')}
        onKeyDown={move}
        onBlur={() => chart.current?.setCursor({ left: -10, top: -10 })}
      />
      <details class="small">
        <summary>As a table</summary>
        <div class="table numbers">
          <NumbersTable {...props} />
        </div>
      </details>
    </figure>
  )
}

/** Draws a line with a letter for every mark. */
function drawMarks({ ctx, bbox, valToPos }: uPlot, marks: readonly ChartMark[]): void {
  ctx.save()
  ctx.strokeStyle = ctx.fillStyle = cssColor('--soft')
  ctx.font = `${10 * devicePixelRatio}px system-ui`
  ctx.setLineDash([3, 3])
  for (const { at, kind } of marks) {
    const x = Math.round(valToPos(at, 'x', true))
    if (x < bbox.left || x > bbox.left + bbox.width) continue
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
    ctx.fillText(kind.charAt(0).toUpperCase(), x + 3, bbox.top + 10 * devicePixelRatio)
  }
  ctx.restore()
}

/** The time range. An hour is shown from its first value on. */
function rangeFrom(first: number | null, seconds: number): [number, number] {
  const now = Date.now() / 1000
  return [seconds > HOUR ? now - seconds : Math.max(now - HOUR, Math.min(first ?? now, now - LEAST)), now]
}

const optionsFor = (width: number, { lines, format, seconds = HOUR }: ChartProps, few: boolean): uPlot.Options => ({
  width,
  height: HEIGHT,
  legend: { show: false },
  cursor: { y: false, points: { size: 6 } },
  scales: {
    x: { time: true, range: (_, first) => rangeFrom(first, seconds) },
    y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] },
  },
  axes: [
    {
      ...axisOf(),
      size: 26,
      space: seconds > DAY ? 90 : 70,
      values: (_, ticks) => ticks.map((at) => timeIn(seconds, at)),
    },
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
function NumbersTable({ label, times, lines, format, seconds = HOUR }: ChartProps) {
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
            <td>{timeIn(seconds, at)}</td>
            {lines.map(({ name, values }) => (
              <td key={name} class="number">
                {shown(values[i], format)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
