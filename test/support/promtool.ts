// Which alerts of deploy/observability fire, by promtool: from scrapes of a running service, or from series that a test writes.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { parse } from 'yaml'
import { packageRoot } from '../../src/lib/paths.ts'
import { tempFile } from './folder.ts'

const rules = path.join(packageRoot, 'deploy/observability/alerts.yml')
const declared = (parse(readFileSync(rules, 'utf8')) as { groups: { rules: { alert: string; expr: string }[] }[] })
  .groups
const all = declared.flatMap((group) => group.rules)
export const ALERTS = all.map(({ alert }) => alert)
export const ALERT_EXPRESSIONS = all.map(({ expr }) => expr)

export const hasPromtool = spawnSync('promtool', ['--version']).status === 0

/** A series in the notation of promtool. */
export interface Series {
  series: string
  values: string
}

/** Seconds between two scrapes. */
const STEP = 15
/** Long enough for the alert that waits longest. */
const [STEPS, TIMES] = [320, ['1m', '2m', '12m', '20m', '70m']]

/** The alerts that fire at some time. */
export function firing(input_series: readonly Series[]): string[] {
  const alert_rule_test = TIMES.flatMap((eval_time) => ALERTS.map((alertname) => ({ eval_time, alertname })))
  const tests = [{ interval: `${STEP}s`, input_series, alert_rule_test }]
  const file = tempFile('fires.json', { rule_files: [rules], evaluation_interval: `${STEP}s`, tests })
  const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' })
  const names = [...`${stdout}${stderr}`.matchAll(/alertname: *(\w+)/g)].map(([, name = '']) => name)
  if (names.length === 0 && status !== 0) throw new Error(`promtool: ${stdout}${stderr}`)
  return ALERTS.filter((name) => names.includes(name))
}

/** A scrape and its time in epoch seconds. */
export interface Scrape {
  at: number
  text: string
}

/** Scrapes an instance. */
export const scrape = async ({ admin }: { admin: string }): Promise<Scrape> => ({
  at: Date.now() / 1000,
  text: await (await fetch(`${admin}/metrics`)).text(),
})

/** The series of an instance from scrapes that follow each other. They stay as they are at the last scrape; with `goesOn` counters rise further as they did. */
export function seriesOf(instance: string, scrapes: readonly Scrape[], goesOn = false): Series[] {
  const read = scrapes.map(({ at, text }) => {
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#') && !line.endsWith(' NaN'))
    return new Map(
      lines.map((line) => {
        const end = line.lastIndexOf(' ')
        const value = Number(line.slice(end + 1))
        // promtool begins at 0.
        return [line.slice(0, end), line.startsWith('ext_clock_seconds') ? value - at : value] as const
      }),
    )
  })
  const counters = new Set(
    [...(scrapes.at(-1)?.text ?? '').matchAll(/^# TYPE (\S+) (?:counter|histogram)$/gm)].map(([, name]) => name),
  )
  return [...(read.at(-1)?.keys() ?? [])].map((series) => {
    const [, name = '', labels = ''] = /^(\w+)(?:\{(.*)\})?$/.exec(series) ?? []
    const values = read.map((each) => each.get(series))
    const last = values.at(-1) ?? 0
    const before = values.at(-2) ?? last
    const family = name.replace(/_(bucket|sum|count)$/, '')
    const growth = name === 'ext_clock_seconds' ? STEP : goesOn && counters.has(family) ? last - before : 0
    const shown = values
      .slice(0, -1)
      .map((value, i) => (value === undefined ? '_' : text(value + (name === 'ext_clock_seconds' ? i * STEP : 0))))
    const from = name === 'ext_clock_seconds' ? last + (values.length - 1) * STEP : last
    const own = `job="service",instance="${instance}"${labels ? `,${labels}` : ''}`
    return {
      series: `${name}{${own}}`,
      values: [...shown, `${text(from)}${growth < 0 ? '-' : '+'}${text(Math.abs(growth))}x${STEPS}`].join(' '),
    }
  })
}

const text = (value: number): string => String(Number(value.toFixed(6)))
