// Section P of the attack list: storage, races, clusters, process lifecycle. One test per row, named by its id. P05 is
// test/torture, P09 test/store/storage_thread.test.ts, P11 test/store/migrate.test.ts and postgres_migrate.test.ts.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { newId, newSecret } from '../../src/lib/id.ts'
import { Database } from '../../src/store/database.ts'
import { Browser, fieldsOf } from '../support/browser.ts'
import { dpop, proofKey } from '../support/dpop.ts'
import {
  type Answer,
  authorize,
  authorizeUrl,
  isActive,
  machineToken,
  post,
  redeem,
  refresh,
  signIn,
} from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { placed } from '../support/instances.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wire.ts'

const opened: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close()
})
const start = async (env: Record<string, string> = {}): Promise<TestService> => {
  // The time that it waits for a locked database.
  const service = await startService(env, undefined, { busyMs: 100 })
  opened.unshift(service)
  return service
}
const outcome = ({ status, body }: Answer) => (status === 200 ? '200' : `${status} ${body['error']}`)

describe('on PostgreSQL', () => {
  let server: PostgresServer | undefined
  afterAll(() => server?.close())
  const shared = async () => {
    server ??= await startPostgres({ mayBeShared: false })
    return {
      SERVICE_STORAGE_DRIVER: 'postgres',
      SERVICE_STORAGE_POSTGRES_DSN: await server.migrated(),
      SERVICE_STORAGE_POSTGRES_MAX_CONNS: '5',
      SERVICE_SIGNING_KEY_PATH: path.join(tempFolder(), 'keys'),
      SERVICE_SESSION_SECRET: newSecret(),
    }
  }

  test('P01 a sign-in, a consent and a code of one instance are valid at the other instance', async () => {
    const env = await shared()
    const a = await start(env)
    const b = await start({ ...env, SERVICE_SERVER_ISSUER: a.issuer })
    // The browser sees one issuer; here instance b, on its own port, answers the second half.
    const port = b.app.config.server.address
    const there = { ...b, issuer: `http://localhost${port}` }
    const [client, user, resource] = [await addClient(a), await addUser(a), await addResource(a)]
    const url = authorizeUrl(a, { client_id: client.client_id, resource: resource.uri })
    const browser = new Browser()
    await signIn(a, browser, await browser.follow(url), user.email)
    const page = await browser.follow(url.replace(a.issuer, there.issuer))
    expect(page.text).toContain('value="allow"')
    const answer = await browser.post(`${there.issuer}/consent`, [...fieldsOf(page), ['action', 'allow']])
    expect(new URL(answer.location ?? '').searchParams.get('iss')).toBe(a.issuer)
    const authorized = await authorize(a, client, user, { resource: resource.uri }, browser)
    const tokens = await redeem(there, client, authorized)
    expect(tokens.status).toBe(200)
    expect((await refresh(a, client, tokens.body['refresh_token'])).status).toBe(200)
  })

  test('P02 while PostgreSQL is unavailable every request that needs it is 503 with Retry-After; afterwards no operation is half written', async () => {
    const service = await start(await shared())
    const [client, user, resource] = [await addClient(service), await addUser(service), await addResource(service)]
    const authorized = await authorize(service, client, user, { resource: resource.uri })
    const { body } = await redeem(service, client, authorized)
    const later = await authorize(service, client, user, { resource: resource.uri }, authorized.browser)
    const answers: Answer[] = []
    let running = true
    const load = Array.from({ length: 4 }, async () => {
      while (running) answers.push(await machineToken(service, client))
    })
    await eventually(() => answers.length > 20)
    await server?.restart?.stop()
    const from = answers.length
    await eventually(() => answers.slice(from).some(({ status }) => status === 503))
    const refused = [
      await refresh(service, client, body['refresh_token']),
      await redeem(service, client, later),
      await post(`${service.issuer}/oauth/revoke`, client, { token: String(body['refresh_token']) }),
    ]
    for (const answer of refused) {
      expect(outcome(answer)).toBe('503 temporarily_unavailable')
      expect(answer.headers.get('retry-after')).toBe('1')
    }
    await eventually(async () => (await fetch(`${service.issuer}/health`)).status === 503)
    expect((await fetch(`${service.issuer}/livez`)).status).toBe(200)
    await server?.restart?.start()
    await eventually(async () => (await machineToken(service, client)).status === 200)
    running = false
    await Promise.all(load)
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 503]))
    // The refused requests had no effect: the code and the refresh token can each be used once.
    expect((await redeem(service, client, later)).status).toBe(200)
    expect((await refresh(service, client, body['refresh_token'])).status).toBe(200)
    expect((await refresh(service, client, body['refresh_token'])).status).toBe(400)
  })
})

// A full disk: test/faults/disk.test.ts.
test('P03 a SQLite file that is locked or read-only causes 503, and no token is answered that was not stored', async () => {
  const service = await start({ SERVICE_STORAGE_SQLITE_WAL: 'false' })
  const client = await addClient(service)
  expect((await machineToken(service, client)).status).toBe(200)
  const file = service.app.config.storage.sqlite.path
  const other = new Database(file)
  other.exec('BEGIN EXCLUSIVE')
  const locked = await Promise.all(Array.from({ length: 3 }, () => machineToken(service, client)))
  other.exec('ROLLBACK')
  expect(new Set(locked.map(outcome))).toEqual(new Set(['503 temporarily_unavailable']))
  expect(locked[0]?.headers.get('retry-after')).toBe('1')
  await eventually(async () => (await machineToken(service, client)).status === 200)
  // The second connection sees every answered token and no other.
  const { rows } = other.prepare('SELECT count(*) AS rows FROM issuances').get() as { rows: number }
  expect(rows).toBe(2)
  other.close()
})

test('P06 SIGHUP with a broken or missing key file keeps the current keys and logs an error', async () => {
  const folder = tempFolder()
  const keys = path.join(folder, 'keys')
  const { instance } = await placed(folder)
  await instance.start()
  const jwks = async () => await (await fetch(`${instance.base}/.well-known/jwks.json`)).text()
  const before = await jwks()
  const pem = path.join(keys, readdirSync(keys).find((name) => name.endsWith('.pem')) ?? '')
  const index = path.join(keys, 'keys.json')
  for (const file of [pem, index]) {
    const right = readFileSync(file)
    const told = instance.errors().length
    writeFileSync(file, 'broken')
    instance.signal('SIGHUP')
    await eventually(() => instance.errors().length > told)
    expect(instance.errors().at(-1)).toContain('the previous keys stay in use')
    expect(await jwks()).toBe(before)
    writeFileSync(file, right)
  }
  const reloaded = () => instance.text().includes('signing keys reloaded')
  expect(reloaded()).toBe(false)
  instance.signal('SIGHUP')
  await eventually(reloaded)
  expect(await jwks()).toBe(before)
})

test('P07 a clock that jumps an hour neither revives expired values nor accepts values that are not valid yet', async () => {
  const service = await start()
  const [client, key] = [await addClient(service), await proofKey()]
  const used = await dpop(service, key)
  const { body } = await machineToken(service, client, {}, used)
  service.advance(7200)
  expect(await isActive(service, client, body['access_token'])).toBe(false)
  expect(outcome(await machineToken(service, client, {}, used))).toBe('400 invalid_dpop_proof')
  const ahead = await machineToken(service, client)
  expect(Number(ahead.body['expires_in'])).toBeGreaterThan(0)
  const future = await dpop(service, key)
  service.advance(-7200)
  // After the jump back: the proof of the future is not valid yet, the used proof stays used, tokens of the future do not live longer than issued.
  expect(outcome(await machineToken(service, client, {}, future))).toBe('400 invalid_dpop_proof')
  expect(outcome(await machineToken(service, client, {}, used))).toBe('400 invalid_dpop_proof')
  const again = await machineToken(service, client, {}, await dpop(service, key))
  expect([again.status, again.body['expires_in']]).toEqual([200, ahead.body['expires_in']])
  expect((await fetch(`${service.issuer}/health`)).status).toBe(200)
})

test('P10 a token whose row cannot be written is not returned, and the code or refresh token it would consume stays valid', async () => {
  const service = await start()
  const [client, user, resource] = [await addClient(service), await addUser(service), await addResource(service)]
  const authorized = await authorize(service, client, user, { resource: resource.uri })
  const { body } = await redeem(service, client, authorized)
  const later = await authorize(service, client, user, { resource: resource.uri }, authorized.browser)
  const proof = await dpop(service, await proofKey())
  const db = new Database(service.app.config.storage.sqlite.path)
  db.exec(`CREATE TRIGGER refuse BEFORE INSERT ON issuances BEGIN SELECT RAISE(ABORT, 'refused ${newId()}'); END`)
  const attempts = () => [
    redeem(service, client, later),
    refresh(service, client, body['refresh_token']),
    machineToken(service, client, {}, proof),
  ]
  for (const answer of await Promise.all(attempts())) {
    expect(outcome(answer)).toBe('500 server_error')
    expect(answer.body['access_token']).toBeUndefined()
  }
  db.exec('DROP TRIGGER refuse')
  db.close()
  for (const attempt of attempts()) expect([200, 400]).toContain((await attempt).status)
  expect(outcome(await refresh(service, client, body['refresh_token']))).toBe('400 invalid_grant')
})
