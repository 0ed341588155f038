import { expect, test } from 'vitest'
import { headlineOf } from '../../bench/report/headline.ts'
import { renderHtml } from '../../bench/report/html.ts'
import { kneesOf, readReport } from '../../bench/report/report.ts'
import { describeRun, headlineText, table, verdict } from '../../bench/report/table.ts'
import { tempFile } from '../support/folder.ts'
import { reportWith, resultWith } from './reports.ts'

const peer = resultWith('xaa', [{ per_s: 500 }], [], { server: 'other & sons', store: 'none' })
const report = reportWith([resultWith('xaa', [{ per_s: 1000 }], [{ per_s: 700 }, { per_s: 900, p99: 80 }]), peer])

const written = (text: string) => tempFile('report.json', text)

test('a report is read back as it was written; values that could not be measured are null', () => {
  const file = written(JSON.stringify({ ...report, calibration: { ...report.calibration, http_per_s: Number.NaN } }))
  expect(readReport(file)).toEqual({ ...report, calibration: { ...report.calibration, http_per_s: null } })
  expect(kneesOf(file, 'sqlite', 'ES256')).toEqual({ xaa: 700 })
  expect(kneesOf(file, 'postgres', 'ES256')).toEqual({})
})

test.each([
  ['text', 'hello'],
  ['a report of another schema', JSON.stringify({ ...report, schema: 99 })],
  ['JSON of something else', '{}'],
])('%s is refused', (_what, text) => {
  expect(() => readReport(written(text))).toThrow('is not a report')
})

test('the HTML is one file without scripts and external references, and escapes names', () => {
  const html = renderHtml(report)
  expect(html).not.toMatch(/<script|https?:\/\/|src=|@import|url\(/)
  expect(html).toContain('other &amp; sons')
  expect(html).toContain('knee 700/s')
  expect(html.match(/<polyline/g)).toHaveLength(3)
})

test('the text names the limiting part, the knee, and the ratio to the peer', () => {
  expect(table(report)).toContain('2.00x')
  expect(verdict(report)).toEqual([expect.stringContaining('up to 700/s')])
  expect(describeRun({ ...report, partial: true })).toContain('INTERRUPTED')
})

test('the first section says what the machine serves, what gives way first and what to change', () => {
  const html = renderHtml(report)
  const first = html.slice(html.indexOf('<section>'), html.indexOf('</section>'))
  expect(first).toContain('2 x Test, with p99 within 25 ms: xaa 700/s.')
  expect(first).toContain('the front thread.')
  expect(first).toContain('server.front_threads')
  expect(headlineText(report).split('\n')).toEqual([
    expect.stringMatching(/^Serves: .*700\/s\.$/),
    'Gives way first: the front thread.',
    expect.stringMatching(/^To serve more: server\.front_threads/),
  ])
  expect(headlineText(reportWith([]))).toBe('')
})

test('parts that limit different workloads are named with them', () => {
  const stored = resultWith('refresh_token', [{ per_s: 800 }])
  const limited = { ...stored, rounds: stored.rounds.map((round) => ({ ...round, bottleneck: 'the storage thread' })) }
  const { limit = '', change = '' } = headlineOf(reportWith([...report.results, limited])) ?? {}
  expect(limit).toBe('the front thread (xaa), the storage thread (refresh_token).')
  expect(change).toContain('a disk with faster forced writes')
})

test('a bar with a different scale is labelled', () => {
  const login = resultWith('login', [{ per_s: 60, front: 15_000 }])
  const both = renderHtml({ ...report, results: [...report.results, login] })
  expect(both).toMatch(/DIFFERENT SCALE[^<]* above is 80 us, the longest bar below 15,040 us/)
  for (const results of [[login], report.results])
    expect(renderHtml({ ...report, results })).not.toContain('DIFFERENT SCALE')
})

test('a knee that is a lower bound is labelled so, with the reason', () => {
  const said = (knees: { per_s: number; p99?: number }[], why?: string) => {
    const bounded = reportWith([resultWith('xaa', [{ per_s: 1000 }], knees, { knee_at_least: why })])
    return { sentence: verdict(bounded)[0], table: table(bounded) }
  }
  expect(said([{ per_s: 700 }]).sentence).toContain('up to 700/s.')
  const late = said([{ per_s: 700 }], 'the load generator itself was late')
  expect(late.sentence).toContain('up to at least 700/s: above it, the load generator itself was late.')
  expect(late.table).toContain('>= 700')
  const none = said([{ per_s: 700, p99: 90 }], 'other programs used the machine')
  expect(none.sentence).toContain(
    'It did not keep p99 within 25 ms at any measured rate, but other programs used the machine.',
  )
})
