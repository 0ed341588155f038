// Files that commands write while the disk is full: nothing is lost, and no success is reported for an incomplete file.
import { spawnSync } from 'node:child_process'
import { appendFileSync, existsSync, openSync, readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import path from 'node:path'
import { afterAll, assert, beforeAll, describe, expect, test } from 'vitest'
import { keyfileStore } from '../../src/crypto/keyfile.ts'
import { idFloor, newId } from '../../src/lib/id.ts'
import { programFile } from '../../src/lib/paths.ts'
import { envOf, runCli } from '../support/cli.ts'
import { diskNote, fill, smallDisk } from '../support/disk.ts'
import { tempFolder } from '../support/folder.ts'
import { placed } from '../support/instances.ts'
import { anEvent } from '../support/records.ts'
import { startService, type TestService } from '../support/service.ts'

const disk = smallDisk(4)
const ballast = path.join(disk ?? '', 'ballast')
const YEAR = 365 * 86_400

describe.skipIf(!disk)(`on a full disk (${diskNote(disk)})`, () => {
  let service: TestService
  let env: Record<string, string>
  beforeAll(async () => {
    service = await startService()
    env = envOf(service)
  })
  afterAll(() => service.close())

  /** Leaves so many bytes of the disk free. */
  const leave = (bytes: number) => {
    fill(ballast)
    truncateSync(ballast, readFileSync(ballast).length - bytes)
  }
  const purge = (file: string) =>
    runCli(['purge', '--only', 'audit-events', '--older-than', '365d', '--export', file, '--json'], env)
  const idsIn = (file: string) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line).id as string)
  const addOld = async (count: number) => {
    const at = service.app.clock.now() - 2 * YEAR
    const ids = Array.from({ length: count }, (_, i) => idFloor(at + i).slice(0, 8) + newId().slice(8))
    await Promise.all(ids.map((id) => service.app.store.recordAudit(anEvent({ id, created_at: at }))))
    return ids.sort()
  }
  const oldOnes = async () =>
    (
      await service.app.store.listOldAudit({
        after: '',
        before: idFloor(service.app.clock.now() - YEAR),
        limit: 10_000,
      })
    ).map(({ id }) => id)

  test('an export that does not fit deletes nothing, exits with 1, and leaves the file unchanged', async () => {
    const ids = await addOld(200)
    const file = path.join(disk as string, 'whole.jsonl')
    appendFileSync(file, '{"id":"before"}\n')
    leave(8192)
    const { code, stdout } = await purge(file)
    expect([code, stdout]).toEqual([1, expect.stringContaining('ENOSPC')])
    expect((await oldOnes()).sort()).toEqual(ids)
    expect(idsIn(file)).toEqual(['before'])
    rmSync(ballast)
    expect((await purge(file)).code).toBe(0)
    expect(idsIn(file).slice(1).sort()).toEqual(ids)
    expect(await oldOnes()).toEqual([])
  })

  test('after a partial export exactly the exported rows are deleted', async () => {
    const ids = await addOld(2000)
    const file = path.join(disk as string, 'part.jsonl')
    leave(256 * 1024)
    expect((await purge(file)).code).toBe(1)
    const [gone, left] = [idsIn(file), await oldOnes()]
    expect(gone.length).toBeGreaterThan(0)
    expect(left.length).toBeGreaterThan(0)
    expect([...gone, ...left].sort()).toEqual(ids)
    rmSync(ballast)
    expect((await purge(file)).code).toBe(0)
    expect(idsIn(file).sort()).toEqual(ids)
    rmSync(file)
  })

  test('a purge that can write nothing exits with 1 and names the reason once, also when it finds no row to delete', async () => {
    const folder = path.join(disk as string, 'purge')
    const { env, instance } = await placed(folder)
    await instance.start()
    fill(ballast)
    const plain = await runCli(['purge'], env)
    const json = await runCli(['purge', '--only', 'jti,sessions', '--json'], env)
    rmSync(ballast)
    expect([plain.code, json.code]).toEqual([1, 1])
    const faults = plain.stderr.split('\n').filter(Boolean)
    expect(faults).toEqual([expect.stringMatching(/^error: purge failed for .*sessions: .*database or disk is full/)])
    expect(JSON.parse(json.stderr)).toEqual({
      error: 'failed',
      error_description: expect.stringMatching(/^purge failed for jti, sessions: .*database or disk is full/),
    })
    expect((await runCli(['purge'], env)).code).toBe(0)
    await instance.kill('SIGTERM')
    rmSync(folder, { recursive: true })
  })

  test('a line that a crash truncated is ended before the next one', async () => {
    const ids = await addOld(3)
    const file = path.join(disk as string, 'cut.jsonl')
    appendFileSync(file, '{"id":"cu')
    expect((await purge(file)).code).toBe(0)
    const [cut, ...lines] = readFileSync(file, 'utf8').split('\n').filter(Boolean)
    expect(cut).toBe('{"id":"cu')
    expect(lines.map((line) => JSON.parse(line).id).sort()).toEqual(ids)
  })

  test('a backup that does not fit exits with 1 and leaves no file', async () => {
    const to = path.join(disk as string, 'service.backup')
    leave(100 * 1024)
    const { code, stderr } = await runCli(['backup', '--to', to], env)
    rmSync(ballast)
    expect([code, stderr]).toEqual([1, expect.stringMatching(/full|ENOSPC/)])
    expect(readdirSync(disk as string).filter((name) => name.includes('backup') || name.endsWith('.db'))).toEqual([])
  })

  test('a signing key that does not fit is not put in place, and leaves no file', async () => {
    const folder = path.join(disk as string, 'keys')
    const key = (kid: string) => ({ kid, alg: 'ES256' as const, created_at: 1, pem: kid.repeat(5000) })
    const store = keyfileStore(folder)
    await store.change(() => [key('a')])
    leave(4096)
    await expect(store.change((found) => [...found, key('b')])).rejects.toThrow('ENOSPC')
    expect(await store.load()).toEqual([key('a')])
    expect(readdirSync(folder).sort()).toEqual(['a.pem', 'keys.json'])
    rmSync(ballast)
  })

  test('redirected output is complete, or the command exits with 1', () => {
    const file = path.join(disk as string, 'completion')
    const print = (words: string[]) => {
      const out = openSync(file, 'w')
      return spawnSync(process.execPath, [programFile('service'), ...words], { stdio: ['ignore', out, 'pipe'], env })
    }
    leave(4096)
    const cut = print(['completion', 'bash'])
    expect([cut.status, String(cut.stderr)]).toEqual([1, expect.stringContaining('ENOSPC')])
    rmSync(ballast)
    assert(existsSync(file))
    expect(print(['completion', 'bash']).status).toBe(0)
    expect(readFileSync(file).length).toBeGreaterThan(4096)
  })

  test('a server whose log file is on the full disk continues to work, and the log continues when there is space', async () => {
    const log = path.join(disk as string, 'log')
    const at = await placed(tempFolder(), { SERVICE_LOG_LEVEL: 'debug' }, { log: openSync(log, 'w') })
    await at.instance.start()
    fill(ballast)
    const asked: string[] = []
    const ask = async () => {
      const answer = await fetch(`${at.instance.base}/oauth/token`, { method: 'POST', body: new URLSearchParams() })
      asked.push(((await answer.json()) as { request_id: string }).request_id)
    }
    for (let i = 0; i < 30; i++) await ask()
    rmSync(ballast)
    await ask()
    await at.instance.kill('SIGTERM')
    const lines = readFileSync(log, 'utf8').split('\n').filter(Boolean)
    const logged = new Set(lines.map((line) => JSON.parse(line).request_id))
    expect(new Set(asked).size).toBe(31)
    for (const id of asked) expect(logged.has(id)).toBe(true)
  })
})
