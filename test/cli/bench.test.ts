// `service bench`: errors before anything starts, and the files it leaves.
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { finish, reportFiles } from '../../bench/cli/report.ts'
import { readReport } from '../../bench/report/report.ts'
import { reportWith, resultWith } from '../bench/reports.ts'
import { runHere } from '../support/cli.ts'
import { tempFile, tempFolder } from '../support/folder.ts'

const report = reportWith([resultWith('xaa', [{ per_s: 1000 }], [{ per_s: 700 }])])

/** The output during the run. */
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
    // mkdir of Node never returns for such a path when it creates all folders.
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

  test('the file keeps its content until the new report is complete', () => {
    const file = tempFile('report.json', 'old')
    reportFiles(file, true)
    expect(readFileSync(file, 'utf8')).toBe('old')
  })

  test.each([true, false])(
    'a report that cannot be written is printed, and the command fails (--json: %s)',
    (asJson) => {
      const files = reportFiles(path.join(tempFolder(), 'report.json'), true)
      mkdirSync(files.json)
      const { result, stdout, stderr } = printed(() => finish({ ...report, partial: true }, files, asJson))
      expect(result).toBe(1)
      expect(stdout).toContain('xaa')
      expect(stdout).not.toContain('report: ')
      expect(stderr).toMatch(/^error: the report was not written: EISDIR/)
      expect(existsSync(files.html)).toBe(false)
    },
  )
})

describe('contradictory databases and peers', () => {
  const dsn = 'postgres://user:hunter2@127.0.0.1:5432/x'
  const elsewhere = 'postgres://user:hunter2@db.example.com/x'
  const peer = (name: string, url = 'http://127.0.0.1:1') => ['--peer', `${name}=${url},/token,id,hunter2`]
  test.each([
    ['a server with SQLite', ['--database', dsn], 'add --store postgres'],
    ['a server elsewhere', ['--store', 'postgres', '--database', elsewhere], 'db.example.com is another machine'],
    ['a server elsewhere, with SQLite', ['--database', elsewhere], 'db.example.com is another machine'],
    [
      'a host in the query',
      ['--store', 'postgres', '--postgres', `${dsn}?host=10.1.1.1`],
      '10.1.1.1 is another machine',
    ],
    ['a file with PostgreSQL', ['--store', 'postgres', '--database', '/tmp/x.db'], 'names a file'],
    ['a server for nothing', ['--postgres', dsn], 'add --store postgres'],
    ['a temporary place elsewhere', ['--store', 'postgres', '--postgres', elsewhere], 'is another machine'],
    ['two servers', ['--store', 'postgres', '--postgres', dsn, '--database', dsn], 'use only one of --postgres'],
    ['another scheme', ['--database', 'mysql://user:hunter2@127.0.0.1/x'], 'not a DSN'],
    ['what is no DSN', ['--store', 'postgres', '--postgres', 'postgres://user:hunter2@:x/'], 'not a DSN'],
    ['no database', ['--database', ''], '--database is empty'],
    ['two peers of one name', [...peer('other'), ...peer('other', 'http://127.0.0.1:2')], '--peer other: two servers'],
    ['a peer with a name of ours', peer('service'), '--peer service: two servers'],
    ['a peer elsewhere', peer('other', 'http://10.1.1.1'), '10.1.1.1 is another machine'],
    ['half a peer', ['--peer', 'other=http://127.0.0.1:1,/token,hunter2'], '--peer must have the form'],
  ])('%s is a usage error whose message contains no secret', async (_what, args, message) => {
    const { code, stdout, stderr } = await runHere(['bench', 'metadata', '--smoke', ...args])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(/^error: /)
    expect(stderr).toContain(message)
    expect(stderr).not.toContain('hunter2')
  })

  test('a remote server in the environment is refused too', async () => {
    const env = { SERVICE_TEST_POSTGRES_DSN: elsewhere }
    const { code, stderr } = await runHere(['bench', 'metadata', '--smoke', '--store', 'postgres'], env)
    expect([code, stderr]).toEqual([
      2,
      'error: SERVICE_TEST_POSTGRES_DSN: db.example.com is another machine: only loopback is measured\n',
    ])
  })
})

function folderWith(folder: string): string {
  const made = tempFolder()
  mkdirSync(path.join(made, folder))
  return made
}
