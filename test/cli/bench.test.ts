// What `service bench` refuses before anything starts, and what it leaves when it is done.
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { readReport } from '../../src/bench/report.ts'
import { finish, reportFiles } from '../../src/cli/bench_report.ts'
import { reportWith, resultWith } from '../bench/reports.ts'
import { runHere } from '../support/cli.ts'
import { tempFile, tempFolder } from '../support/folder.ts'

const report = reportWith([resultWith('xaa', [{ per_s: 1000 }], [{ per_s: 700 }])])

/** What is printed meanwhile. */
function printed<R>(work: () => R): { result: R; stdout: string; stderr: string } {
  const spies = [process.stdout, process.stderr].map((stream) => vi.spyOn(stream, 'write').mockReturnValue(true))
  try {
    const result = work()
    const [stdout = '', stderr = ''] = spies.map((spy) => spy.mock.calls.map(([text]) => String(text)).join(''))
    return { result, stdout, stderr }
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
}

describe('--out', () => {
  test.each([
    ['a folder', () => tempFolder()],
    ['a folder where the page would go', () => path.join(folderWith('report.html'), 'report.json')],
    ['a name that ends in a slash', () => `${tempFolder()}/report/`],
    ['no name', () => ''],
    // mkdir of Node never ends there when it is to make all folders of a path.
    ['a place in which there are no folders', () => '/proc/none/report.json'],
    ['a place below a file', () => path.join(tempFile('file', ''), 'report.json')],
  ])('%s is a usage error before anything is measured', async (_what, out) => {
    const { code, stdout, stderr } = await runHere(['bench', 'metadata', '--smoke', '--out', out()])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(/^error: --out.*\n$/)
  })

  test.each(['report.json', 'report.html', 'report'])('%s names the report and the page beside it', (name) => {
    const folder = path.join(tempFolder(), 'new', 'folder')
    const files = reportFiles(path.join(folder, name), true)
    expect(readdirSync(folder)).toEqual([])
    const { result, stdout } = printed(() => finish(report, files, false))
    expect(result).toBe(0)
    expect(stdout).toContain(`${path.basename(files.json)} and `)
    expect(readdirSync(folder).toSorted()).toEqual([path.basename(files.json), 'report.html'].toSorted())
    expect(readReport(files.json)).toEqual(report)
    expect(readFileSync(path.join(folder, 'report.html'), 'utf8')).toContain('<!doctype html>')
  })

  test('what a file holds stays until there is a new report', () => {
    const file = tempFile('report.json', 'old')
    reportFiles(file, true)
    expect(readFileSync(file, 'utf8')).toBe('old')
  })

  test.each([true, false])('a report that cannot be written is printed, and a failure (--json: %s)', (asJson) => {
    const files = reportFiles(path.join(tempFolder(), 'report.json'), true)
    mkdirSync(files.json)
    const { result, stdout, stderr } = printed(() => finish({ ...report, partial: true }, files, asJson))
    expect(result).toBe(1)
    expect(stdout).toContain('xaa')
    expect(stdout).not.toContain('report: ')
    expect(stderr).toMatch(/^error: the report was not written: EISDIR/)
    expect(existsSync(files.html)).toBe(false)
  })
})

function folderWith(folder: string): string {
  const made = tempFolder()
  mkdirSync(path.join(made, folder))
  return made
}
