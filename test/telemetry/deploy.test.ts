// deploy/observability and the runbook: every panel and alert is about a metric that there is, every alert has its section,
// and every command in the runbook can be run.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { packageRoot } from '../../src/lib/paths.ts'
import { COUNTERS, HISTOGRAMS } from '../../src/telemetry/metric_names.ts'
import { runHere } from '../support/cli.ts'
import { tempFile } from '../support/folder.ts'
import { startService, type TestService } from '../support/service.ts'

const folder = path.join(packageRoot, 'deploy/observability')
const read = (file: string) => readFileSync(path.join(folder, file), 'utf8')

interface Panel {
  type: string
  title: string
  gridPos: { x: number; y: number; w: number; h: number }
  targets?: { expr: string }[]
  fieldConfig?: { defaults: { unit?: unknown } }
}
const dashboards = readdirSync(folder)
  .filter((file) => file.startsWith('grafana-'))
  .map((file) => ({ file, board: JSON.parse(read(file)) as { uid: string; title: string; panels: Panel[] } }))
interface Alert {
  alert: string
  expr: string
  labels: { severity: string }
  annotations: { summary: string; runbook_url: string }
}
const alerts = (parse(read('alerts.yml')) as { groups: { rules: Alert[] }[] }).groups.flatMap(({ rules }) => rules)
const runbook = readFileSync(path.join(packageRoot, 'docs/operate/runbook.md'), 'utf8')

const expressions = [
  ...dashboards.flatMap(({ file, board }) =>
    board.panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }): [string, string] => [`${file}: ${title}`, expr]),
    ),
  ),
  ...alerts.map(({ alert, expr }): [string, string] => [`alert ${alert}`, expr]),
]
/** Metrics of an expression with the labels that it selects by. */
const used = (expr: string) =>
  [...expr.matchAll(/\b((?:core|ext|process|nodejs)_\w+)(?:\{([^}]*)\})?/g)].map(([, name = '', selectors = '']) => ({
    name,
    labels: [...selectors.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label = '']) => label),
  }))
const familyOf = (name: string) => name.replace(/_(bucket|sum|count)$/, '')

const DECLARED: Readonly<Record<string, { labels: readonly string[] }>> = { ...COUNTERS, ...HISTOGRAMS }

let service: TestService
let types: Map<string, string>
let scraped: string
beforeAll(async () => {
  service = await startService()
  service.app.metrics.addProcessMetrics()
  scraped = await (await fetch(`${service.admin}/metrics`)).text()
  types = new Map([...scraped.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]))
})
afterAll(() => service?.close())

describe('every panel and alert', () => {
  test.each(expressions)('%s uses only metrics that exist', (_, expr) => {
    const names = used(expr)
    expect(names.length > 0 || expr.startsWith('up{')).toBe(true)
    for (const { name, labels } of names) {
      const family = types.has(name) ? name : familyOf(name)
      expect(types.has(family), name).toBe(true)
      expect(family === name || types.get(family) === 'histogram', name).toBe(true)
      const declared: readonly string[] | undefined = DECLARED[family]?.labels
      const known =
        declared ?? [...scraped.matchAll(new RegExp(`^${family}\\{(\\w+)=`, 'gm'))].map(([, label]) => label)
      const allowed = ['job', 'instance', ...known, ...(family === 'ext_db_pool_connections' ? ['state'] : [])]
      expect(allowed, name).toEqual(expect.arrayContaining(labels))
    }
  })

  test('every metric has a panel', () => {
    const panels = expressions.filter(([where]) => !where.startsWith('alert'))
    const shown = new Set(panels.flatMap(([, expr]) => used(expr).map(({ name }) => familyOf(name))))
    const ours = [...types.keys()].filter((name) => /^(core|ext)_/.test(name))
    expect(ours.filter((name) => !shown.has(name))).toEqual([])
  })

  test('every panel has a unit, which Grafana knows by a text', () => {
    for (const { file, board } of dashboards)
      for (const { type, title, fieldConfig } of board.panels)
        if (type !== 'row') expect(fieldConfig?.defaults.unit, `${file}: ${title}`).toMatch(/^\w+$/)
  })
})

test('dashboards have unique names, and their panels do not overlap', () => {
  expect(new Set(dashboards.map(({ board }) => board.uid)).size).toBe(2)
  for (const { board } of dashboards) {
    const places = board.panels.map(({ title, gridPos }) => ({ title, ...gridPos }))
    const overlaps = places.flatMap((a, i) =>
      places
        .slice(i + 1)
        .filter((b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h)
        .map((b) => `${a.title} and ${b.title}`),
    )
    expect(overlaps).toEqual([])
    expect(places.filter(({ x, w }) => x + w > 24)).toEqual([])
  }
})

describe('the runbook', () => {
  const sections = [...runbook.matchAll(/^## (\w+)$/gm)].map(([, name]) => name)

  test('has exactly one section for each alert', () => {
    expect(sections).toEqual(alerts.map(({ alert }) => alert))
  })
  test.each(alerts.map(({ alert, annotations }) => [alert, annotations.runbook_url]))(
    'the alert %s links to its own section',
    (alert, url) => {
      expect(url).toMatch(new RegExp(`/docs/operate/runbook\\.md#${alert?.toLowerCase()}$`))
    },
  )
  test.each(sections)('the section %s explains meaning, diagnosis, containment and recovery', (section) => {
    const text = runbook.split(`## ${section}\n`)[1]?.split('\n## ')[0] ?? ''
    for (const word of ['Means', 'See', 'Contain', 'Recover']) expect(text).toContain(`**${word}**:`)
  })

  const commands = [...new Set([...runbook.matchAll(/`service ([a-z][^`]*)`/g)].map(([, command = '']) => command))]
  test.each(commands.filter((command) => !command.includes('...')))(
    'the command "service %s" is valid',
    async (command) => {
      const words = command.split(' ')
      const flags = words.filter((word) => word.startsWith('--'))
      const first = words.findIndex((word) => /^[-<]/.test(word))
      const { code, stdout } = await runHere([...words.slice(0, first < 0 ? words.length : first), '--help'])
      expect(code).toBe(0)
      expect(stdout).toMatch(new RegExp(`Usage: service ${words[0]}`))
      for (const flag of flags) expect(stdout).toContain(flag)
    },
  )
  test('contains no SQL', () => expect(runbook).not.toMatch(/\b(SELECT|UPDATE|DELETE FROM|psql|sqlite3)\b/))
})

test('the example configuration of a collector uses only what it defines', () => {
  interface Pipeline {
    receivers: string[]
    processors: string[]
    exporters: string[]
  }
  const example = parse(read('otel-collector.yml')) as Record<'receivers' | 'processors' | 'exporters', object> & {
    service: { pipelines: Record<string, Pipeline> }
  }
  expect(Object.keys(example.service.pipelines)).toEqual(['metrics', 'traces', 'logs'])
  for (const pipeline of Object.values(example.service.pipelines))
    for (const kind of ['receivers', 'processors', 'exporters'] as const)
      expect(Object.keys(example[kind])).toEqual(expect.arrayContaining(pipeline[kind]))
})

const hasPromtool = spawnSync('promtool', ['--version']).status === 0
describe.skipIf(!hasPromtool)('promtool (not run where it is not installed: apt-get install prometheus)', () => {
  test.each([
    ['check', 'rules', 'alerts.yml'],
    ['test', 'rules', 'alerts.test.yml'],
    ['test', 'rules', 'alerts-days.test.yml'],
  ])('accepts %s %s %s', (...args) => {
    const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: folder, encoding: 'utf8' })
    expect(`${stdout}${stderr}`).toContain('SUCCESS')
    expect(status).toBe(0)
  })

  test('accepts the query of every panel', () => {
    const rules = expressions.map(([, expr], i) => ({
      record: `r${i}`,
      expr: expr.replaceAll('$__rate_interval', '5m'),
    }))
    const file = tempFile('panels.json', { groups: [{ name: 'g', rules }] })
    const { stdout, stderr } = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' })
    expect(`${stdout}${stderr}`).toContain(`SUCCESS: ${rules.length} rules found`)
  })
})
