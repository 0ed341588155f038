// A benchmark run ends the processes that it started, and leaves no files. The test looks in a temporary folder of its own.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readdirSync } from 'node:fs'
import { afterEach, expect, test, vi } from 'vitest'
import { killAll, start, startFile, stopAll, tempDir } from '../../bench/run/children.ts'
import { programFile } from '../../src/lib/paths.ts'
import { tempFolder } from '../support/folder.ts'

afterEach(async () => {
  await stopAll()
  vi.unstubAllEnvs()
})

/** PostgreSQL runs as another user when the tests run as root. */
function temporary(): string {
  const folder = tempFolder()
  chmodSync(folder, 0o711)
  return folder
}

test('a private PostgreSQL that is ended repeatedly, also during its start, removes its data', async () => {
  const folder = temporary()
  vi.stubEnv('TMPDIR', folder)
  const started = startFile('postgres', { folder: tempDir() })
  startFile('postgres', { folder: tempDir() })
  await once(started, 'message')
  await Promise.all([stopAll(), stopAll()])
  expect(started.exitCode).toBe(0)
  expect(readdirSync(folder)).toEqual([])
})

test('a killed process ends together with the processes that it started', async () => {
  const folder = temporary()
  vi.stubEnv('TMPDIR', folder)
  tempDir()
  // The child that it starts keeps its output open.
  const endless = 'setInterval(() => {}, 1000)'
  const spawning = `require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(endless)}], { stdio: 'inherit' }); ${endless}`
  const child = start(process.execPath, ['-e', `${spawning}; console.log('started')`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout as NodeJS.EventEmitter, 'data')
  killAll()
  await once(child, 'close')
  expect([child.signalCode, readdirSync(folder)]).toEqual(['SIGKILL', []])
})

test.each([
  ['SIGINT', 'its group', 'maximum rate', (pid: number) => -pid],
  ['SIGTERM', 'it', 'maximum rate', (pid: number) => pid],
  ['SIGTERM', 'it', 'starting', (pid: number) => pid],
] as const)(
  '%s to %s ends a run on a private PostgreSQL and all it started (at: %s)',
  async (signal, _to, line, to) => {
    const folder = temporary()
    const args = ['bench', 'metadata', '--smoke', '--store', 'postgres', '--service-only', '--rounds', '9']
    const child = spawn(process.execPath, [programFile('service'), ...args, '--out', `${folder}/report.json`], {
      env: { PATH: process.env['PATH'], TMPDIR: folder },
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const pid = child.pid as number
    let said = ''
    let signalled = false
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text
      if (signalled || !said.includes(line)) return
      signalled = true
      process.kill(to(pid), signal)
      // npm passes a signal on that the process group has received already.
      process.kill(pid, signal)
    })
    const [code] = await once(child, 'close')
    expect(code, said).toBe(130)
    expect(readdirSync(folder).toSorted()).toEqual(['report.html', 'report.json'])
  },
)
