import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { latestReport } from '../../bench/cli/report.ts'
import { reportWith, resultWith } from '../bench/reports.ts'
import { runHere } from '../support/cli.ts'
import { tempFolder } from '../support/folder.ts'

const results = ['client_credentials', 'refresh_token'].map((work) =>
  resultWith(work, [{ per_s: 9000 }], [{ per_s: 8000 }]),
)
const fileOf = (report: unknown) => {
  const file = path.join(tempFolder(), 'capacity.json')
  writeFileSync(file, JSON.stringify(report))
  return file
}
const okHere = async (args: readonly string[]) => {
  const { code, stdout, stderr } = await runHere(args)
  expect([code, stderr]).toEqual([0, ''])
  return stdout
}
const args = ['plan', '--rate', '5000', '--mix', 'client_credentials=80,refresh=20']

test('a plan names its report and shows the cost of each kind of work, also as JSON', async () => {
  const from = fileOf(reportWith(results))
  const text = await okHere([...args, '--from', from])
  expect(text).toContain(`from ${from}, a run of`)
  expect(text).toContain('sum of share x cost')
  expect(text).toContain('of another machine, 2 x Test; this one is')
  const { report, parts, costs } = JSON.parse(await okHere([...args, '--from', from, '--json']))
  expect(report).toMatchObject({ file: from, machine: { model: 'Test', cores: 2 } })
  expect(parts[0]).toMatchObject({ work: 'client_credentials', share: 0.8, costs: { total_us: 80 } })
  expect(costs.total_us).toBeCloseTo(80, 9)
})

test('a report of this machine is not described as one of another machine', async () => {
  const plain = reportWith(results)
  const machine = { ...plain.machine, cores: cpus().length, model: cpus()[0]?.model.trim() ?? 'unknown' }
  expect(await okHere([...args, '--from', fileOf({ ...plain, machine })])).not.toContain('another machine')
})

test.each([
  [['--average', '5001'], '--average (5001) is above --rate (5000)'],
  [['--mix', 'refresh=5,client_credentials=90,refresh_token=5'], 'refresh_token is in the mix more than once'],
])('%j is a wrong option', async (more, message) => {
  const { code, stderr } = await runHere([...args, '--from', fileOf(reportWith(results)), ...more])
  expect(code).toBe(2)
  expect(stderr).toContain(message)
})

test('a plan names every missing option at once', async () => {
  expect(await runHere(['plan'])).toMatchObject({
    code: 2,
    stderr: 'error: --rate is required\nerror: --mix is required\n',
  })
  const { stderr } = await runHere(['plan', '--json'])
  expect(JSON.parse(stderr)).toEqual({
    error: 'invalid_request',
    error_description: '--rate is required; --mix is required',
  })
})

test('the report is the named one or the configured one', async () => {
  const file = fileOf(reportWith(results))
  const config = path.join(tempFolder(), 'service.yaml')
  writeFileSync(config, `observability:\n  capacity_report: ${file}\n`)
  expect(await okHere([...args, '--config', config])).toContain(`from ${file}, a run of`)
})

test('without a name, the report is the one that bench wrote last on this machine', () => {
  const folder = tempFolder()
  const plain = reportWith(results)
  const write = (name: string, report: object) => writeFileSync(path.join(folder, name), JSON.stringify(report))
  const here = plain.machine
  expect(latestReport(here, [folder])).toBeUndefined()
  write('service-bench-20260101T000000-a.json', { ...plain, created_at: '2026-01-01T00:00:00.000Z' })
  write('service-bench-20260103T000000-b.json', { ...plain, created_at: '2026-01-03T00:00:00.000Z' })
  write('service-bench-20260102T000000-c.json', { ...plain, created_at: '2026-01-02T00:00:00.000Z' })
  write('service-bench-20260104T000000-other.json', { ...plain, machine: { ...here, cores: here.cores + 1 } })
  write('service-bench-20260105T000000-smoke.json', { ...plain, settings: { ...plain.settings, smoke: true } })
  write('service-bench-20260106T000000-partial.json', { ...plain, partial: true })
  write('service-bench-20260107T000000-broken.json', {})
  expect(latestReport(here, [folder])).toBe(path.join(folder, 'service-bench-20260103T000000-b.json'))
  write('capacity.json', { ...plain, created_at: '2026-01-04T00:00:00.000Z' })
  write('package.json', { name: 'another file' })
  expect(latestReport(here, [folder])).toBe(path.join(folder, 'capacity.json'))
})
