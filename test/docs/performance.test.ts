// The results of docs/performance.md: their plot, and the reports that they cite.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { whole } from '../../bench/report/figures.ts'
import { middleRound, readReport } from '../../bench/report/report.ts'
import { packageRoot } from '../../src/lib/paths.ts'
import { PERFORMANCE_REPORT, renderPerformancePlot } from '../../tools/reference/performance_plot.ts'

const page = readFileSync(path.join(packageRoot, 'docs/performance.md'), 'utf8')

test('the report of the plot is cited, and the plot has the rates of the table', () => {
  expect(page).toContain(`(../${PERFORMANCE_REPORT})`)
  const plot = renderPerformancePlot()
  const { results } = readReport(path.join(packageRoot, PERFORMANCE_REPORT))
  const service = results.find(({ work, server }) => work === 'client_credentials' && server === 'service')
  expect(plot).toContain(`${whole(service && middleRound(service)?.per_s)}/s`)
  // The table rounds to tens.
  const [, rate = ''] = /^\| client_credentials \| ([\d,]+) \|/m.exec(page) ?? []
  const measured = (service && middleRound(service)?.per_s) ?? 0
  expect(Math.abs(Number(rate.replace(',', '')) - measured)).toBeLessThanOrEqual(10)
})

test('every cited report can be read', () => {
  const cited = [...page.matchAll(/\(\.\.\/(bench\/results\/[^)]+\.json)\)/g)].map(([, file]) => file as string)
  expect(cited.length).toBeGreaterThan(3)
  for (const file of cited) expect(readReport(path.join(packageRoot, file)).results.length, file).toBeGreaterThan(0)
})
