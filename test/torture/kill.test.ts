// Nothing that was answered is lost or done twice, whenever the process dies. SERVICE_TORTURE_ROUNDS sets how often it does.
import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { newSecret } from '../../src/lib/id.ts'
import { tempFolder } from '../support/folder.ts'
import { freePort } from '../support/free_port.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { ADMIN_KEY } from '../support/service.ts'
import { pause } from '../support/wire.ts'
import { broken } from './check.ts'
import { load, type Torture } from './clients.ts'
import { History } from './history.ts'
import { Instance } from './instance.ts'
import { openScene } from './scene.ts'

const ROUNDS = Number(process.env['SERVICE_TORTURE_ROUNDS'] ?? 3)
/** Starting is most of a round on PostgreSQL: a quarter as many. */
const POSTGRES_ROUNDS = Math.ceil(ROUNDS / 4)
const ROUND_MS = 120_000
const BEGIN_MS = 60_000

const started: Instance[] = []
let postgres: PostgresServer | undefined
afterAll(async () => {
  await Promise.all(started.map((instance) => instance.kill()))
  await postgres?.close()
})

interface Running {
  all: Instance[]
  issuer: string
  admin: string
}
async function instances(count: number, storage: Record<string, string>): Promise<Running> {
  const ports = await Promise.all(Array.from({ length: 2 * count }, () => freePort()))
  const issuer = `http://localhost:${ports[0]}`
  const shared = {
    SERVICE_SERVER_ISSUER: issuer,
    SERVICE_SESSION_SECRET: newSecret(),
    SERVICE_SIGNING_KEY_PATH: path.join(tempFolder(), 'keys'),
    SERVICE_ADMIN_API_KEY: ADMIN_KEY,
    SERVICE_RATE_LIMIT_ENABLED: 'false',
    SERVICE_CIMD_ALLOW_PRIVATE_ADDRESSES: 'true',
    SERVICE_LOG_LEVEL: 'warn',
    // A proof that is brought again after a restart must fail because it was used, not because it is old.
    SERVICE_DPOP_PROOF_LIFETIME: '300s',
    ...storage,
  }
  const all = Array.from({ length: count }, (_, i) => {
    const [port, admin] = [ports[2 * i], ports[2 * i + 1]]
    const own = { SERVICE_SERVER_ADDRESS: `127.0.0.1:${port}`, SERVICE_ADMIN_ADDRESS: `127.0.0.1:${admin}` }
    return new Instance({ ...shared, ...own })
  })
  for (const instance of all) await instance.start()
  started.push(...all)
  return { all, issuer, admin: `http://127.0.0.1:${ports[1]}` }
}

async function rounds(count: number, { all, issuer, admin }: Running): Promise<void> {
  const scene = await openScene(issuer, admin)
  let issued = 0
  for (let round = 1; round <= count; round++) {
    const history = new History()
    const base = () => (all[Math.floor(Math.random() * all.length)] as Instance).base
    const torture: Torture = { ...scene, history, base, running: true }
    const ended = load(torture)
    // On a busy machine it takes a while until there is something to lose.
    for (const endMs = performance.now() + BEGIN_MS; history.issued.length <= 10 && performance.now() < endMs; )
      await pause(20)
    await pause(300 + Math.random() * 1200)
    await Promise.all(all.map((instance) => instance.kill()))
    torture.running = false
    await ended
    for (const instance of all) await instance.start()
    expect(await broken(torture), `round ${round}, answers ${JSON.stringify(history.answers)}`).toEqual([])
    issued += history.issued.length
  }
  // A torture that does nothing would find nothing.
  expect(issued).toBeGreaterThan(10 * count)
}

describe('P05 SIGKILL at any time', () => {
  test(`loses no answered write and undoes no revocation: ${ROUNDS} times on SQLite`, {
    timeout: ROUNDS * ROUND_MS,
  }, async () => {
    const file = path.join(tempFolder(), 'service.db')
    const running = await instances(1, { SERVICE_STORAGE_SQLITE_PATH: file })
    await rounds(ROUNDS, running)
  })

  test(`loses no answered write and undoes no revocation with two instances: ${POSTGRES_ROUNDS} times on PostgreSQL`, {
    timeout: POSTGRES_ROUNDS * ROUND_MS,
  }, async () => {
    postgres = await startPostgres()
    const running = await instances(2, {
      SERVICE_STORAGE_DRIVER: 'postgres',
      SERVICE_STORAGE_POSTGRES_DSN: await postgres.migrated(),
      SERVICE_STORAGE_POSTGRES_MAX_CONNS: '10',
      // Keys in files are known to another instance only when it reads them again: a rotation needs this store.
      SERVICE_SIGNING_KEY_STORE: 'postgres_key',
      SERVICE_DATA_ENCRYPTION_DRIVER: 'aes_master',
      SERVICE_DATA_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
    })
    await rounds(POSTGRES_ROUNDS, running)
  })
})
