// Disks that are full, closed or grow. The documentation for operators is docs/operate/failure-modes.md.

import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { decodeJwt } from 'jose'
import { assert, expect, test } from 'vitest'
import { programFile } from '../../src/lib/paths.ts'
import { Database, prepareDatabase } from '../../src/store/database.ts'
import { openFile } from '../store/sqlite_file.ts'
import { runCli } from '../support/cli.ts'
import { diskNote, fill, smallDisk } from '../support/disk.ts'
import { machineToken } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { placed } from '../support/instances.ts'
import { aClient, anIssuance, NOW } from '../support/records.ts'
import { ADMIN_KEY } from '../support/service.ts'
import { refusalOf } from '../support/thrown.ts'
import { newMachine } from '../torture/scene.ts'

const small = smallDisk(48)

test.skipIf(!small)(
  `P03 a full disk is 503 with Retry-After; reads continue, and writes continue when there is space (${diskNote(small)})`,
  async () => {
    assert(small)
    const at = await placed(small)
    await at.instance.start()
    const client = await newMachine(at.admin, ['client_credentials'])
    const answered = new Set<string>()
    const ask = async () => {
      const answer = await machineToken(at, client)
      if (answer.status === 200) answered.add(String(decodeJwt(String(answer.body['access_token'])).jti))
      return answer
    }
    expect((await ask()).status).toBe(200)
    fill(path.join(small, 'ballast'))
    let refused = await ask()
    while (refused.status === 200) refused = await ask()
    expect([refused.status, refused.body['error'], refused.headers.get('retry-after')]).toEqual([
      503,
      'temporarily_unavailable',
      '1',
    ])
    for (const document of ['/livez', '/.well-known/jwks.json', '/.well-known/oauth-authorization-server'])
      expect((await fetch(at.instance.base + document)).status).toBe(200)
    rmSync(path.join(small, 'ballast'))
    expect((await ask()).status).toBe(200)
    const { stdout } = await runCli(['doctor', '--json'], at.env)
    const checks = JSON.parse(stdout) as { check: string; result: string }[]
    expect(checks.find(({ check }) => check === 'disk')?.result).toBe('ok')
    const exported = await fetch(`${at.admin}/admin/issuances/export`, {
      headers: { authorization: `Bearer ${ADMIN_KEY}` },
    })
    const rows = new Set(
      (await exported.text())
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line).id),
    )
    expect(rows).toEqual(answered)
    await at.instance.kill('SIGTERM')
  },
)

test.skipIf(!small)(
  `a full disk is not ready within 5 s, also without requests; the log has one line, and the service recovers automatically (${diskNote(small)})`,
  async () => {
    assert(small)
    const at = await placed(path.join(small, 'idle'))
    await at.instance.start()
    const client = await newMachine(at.admin, ['client_credentials'])
    const statusOf = async (document: string) => (await fetch(at.instance.base + document)).status
    const statuses = async () => [await statusOf('/ready'), await statusOf('/health'), await statusOf('/livez')]
    const healthy = async () =>
      /^ext_storage_healthy (\d)$/m.exec(await (await fetch(`${at.admin}/metrics`)).text())?.[1]
    expect([await statuses(), await healthy()]).toEqual([[200, 200, 200], '1'])

    fill(path.join(small, 'ballast'))
    await expect.poll(statuses, { timeout: 10_000 }).toEqual([503, 503, 200])
    expect(await healthy()).toBe('0')
    const loud = () =>
      at.instance
        .text()
        .split('\n')
        .filter((line) => /"level":"(warn|error)".*SQLITE_FULL/.test(line))
    expect(loud()).toHaveLength(1)
    const refused = await Promise.all(Array.from({ length: 200 }, () => machineToken(at, client)))
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([503]))
    expect(await statusOf('/ready')).toBe(503)
    // One of the health, one of the requests, and a second one where ten seconds went by.
    expect(loud().length).toBeLessThanOrEqual(3)

    rmSync(path.join(small, 'ballast'))
    await expect.poll(statuses, { timeout: 10_000 }).toEqual([200, 200, 200])
    expect((await machineToken(at, client)).status).toBe(200)
    expect(await healthy()).toBe('1')
    await at.instance.kill('SIGTERM')
  },
)

test('P03 a database that becomes read-only is 503 for writes, and works again when it is writable', async () => {
  const file = path.join(tempFolder(), 'service.db')
  prepareDatabase(file, false, NOW)
  const { store, close } = openFile(file, false)
  const client = aClient()
  await store.createClient(client)
  // Without a write-ahead log, SQLite refuses to write to a file that was moved: SQLITE_READONLY.
  renameSync(file, `${file}.moved`)
  const error = await refusalOf(() => store.recordIssuance(anIssuance()))
  expect([error.status, error.reason, error.more.headers?.['retry-after']]).toEqual([503, 'storage_unavailable', '1'])
  expect(await store.findClient(client)).toEqual(client)
  renameSync(`${file}.moved`, file)
  const issuance = anIssuance()
  await store.recordIssuance(issuance)
  expect(await store.findIssuance(issuance)).toEqual(issuance)
  await close()
})

test('a read-only database ends the start with an error that names it', async () => {
  const folder = tempFolder()
  const at = await placed(folder)
  prepareDatabase(at.env['SERVICE_STORAGE_SQLITE_PATH'] as string, true, NOW)
  mkdirSync(at.env['SERVICE_SIGNING_KEY_PATH'] as string, { mode: 0o777 })
  chmodSync(at.env['SERVICE_STORAGE_SQLITE_PATH'] as string, 0o444)
  chmodSync(folder, 0o555)
  const asNobody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
  const ran = spawnSync(process.execPath, [programFile('service'), 'serve'], {
    env: { PATH: process.env['PATH'], ...at.env },
    encoding: 'utf8',
    timeout: 20_000,
    ...asNobody,
  })
  chmodSync(folder, 0o755)
  expect(ran.status).toBe(1)
  expect(ran.stderr + ran.stdout).toContain(`cannot open the database ${at.env['SERVICE_STORAGE_SQLITE_PATH']}`)
})

test('files of the service are closed to other users, with any umask', async () => {
  const folder = tempFolder()
  const at = await placed(path.join(folder, 'data'))
  const before = process.umask(0)
  try {
    await at.instance.start()
  } finally {
    process.umask(before)
  }
  const client = await newMachine(at.admin, ['client_credentials'])
  expect((await machineToken(at, client)).status).toBe(200)
  const keys = at.env['SERVICE_SIGNING_KEY_PATH'] as string
  const file = at.env['SERVICE_STORAGE_SQLITE_PATH'] as string
  for (const each of [
    path.join(folder, 'data'),
    keys,
    path.join(keys, 'keys.json'),
    file,
    `${file}-wal`,
    `${file}-shm`,
  ])
    expect(statSync(each).mode & 0o077, each).toBe(0)
})

test('a write-ahead log that a reader holds grows beyond its limit, the service works, and the log is reused when the reader ends', async () => {
  const file = path.join(tempFolder(), 'service.db')
  prepareDatabase(file, true, NOW)
  const { store, close } = openFile(file)
  const wal = () => statSync(`${file}-wal`).size
  const write = async (count: number) => {
    for (let i = 0; i < count; i++) await store.recordIssuance(anIssuance({ scope: 'x'.repeat(400_000) }))
  }
  await write(2)
  const reader = new Database(file, { readonly: true })
  reader.exec('BEGIN')
  expect(reader.prepare('SELECT count(*) AS rows FROM issuances').get()).toEqual({ rows: 2 })
  await write(80)
  // A checkpoint is due at 4000 pages of 4 kB; it cannot write pages that the reader may still need.
  const grown = wal()
  expect(grown).toBeGreaterThan(25 * 1024 * 1024)
  const seen = anIssuance()
  await store.recordIssuance(seen)
  expect(await store.findIssuance(seen)).toEqual(seen)
  expect(reader.prepare('SELECT count(*) AS rows FROM issuances').get()).toEqual({ rows: 2 })
  reader.close()
  const before = wal()
  await write(40)
  expect(wal()).toBeLessThanOrEqual(before + 1024 * 1024)
  await close()
  expect(existsSync(`${file}-wal`)).toBe(false)
})
