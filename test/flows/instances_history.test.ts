// Three instances on one PostgreSQL under load, while connections are ended, stalled and cut, the server is restarted, keys
// are rotated and clients suspended. Every answer is recorded in a history, which is checked at the end.
import { randomInt } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { STALE_MS } from '../../src/store/cache.ts'
import { idBytes } from '../../src/store/op.ts'
import { callAdmin } from '../support/admin.ts'
import { Browser } from '../support/browser.ts'
import { dpop, proofKey } from '../support/dpop.ts'
import { type Answer, authorize, post, redeem } from '../support/flow.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { openProxy, type TcpProxy } from '../support/proxy.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'
import { pause } from '../support/wire.ts'

/** The faults take about twelve seconds; a busy machine may need more until enough has happened around them. */
const RUN_MS = 14_000
const LONGEST_MS = 120_000
const INSTANCES = 3

type Client = Awaited<ReturnType<typeof addClient>>
interface Event {
  kind: 'machine' | 'proof' | 'refresh'
  /** What may be accepted once: a proof, a refresh token. */
  once?: string
  client_id: string
  startedMs: number
  status: number
  jti?: string
  kid?: string
}
interface Instance {
  service: TestService
  proxy: TcpProxy
  stalled: boolean
}

const instances: Instance[] = []
const history: Event[] = []
/** When the suspension of a client was acknowledged. */
const suspendedMs = new Map<string, number>()
/** Tokens whose key some reachable instance did not know when they were answered. */
const unknownKeys: string[] = []
let rotations = 0
let server: PostgresServer
let dsn: string
const any = <T>(list: readonly T[]): T => list[randomInt(list.length)] as T
const one = () => any(instances).service

async function ask(
  kind: Event['kind'],
  at: TestService,
  client: Client,
  fields: Record<string, string>,
  more: { once?: string; headers?: Record<string, string> } = {},
): Promise<Answer | undefined> {
  const startedMs = performance.now()
  const answer = await post(`${at.issuer}/oauth/token`, client, fields, more.headers).catch(() => undefined)
  const event: Event = { kind, once: more.once, client_id: client.client_id, startedMs, status: answer?.status ?? 0 }
  if (answer?.status === 200) {
    const token = String(answer.body['access_token'])
    event.jti = String(decodeJwt(token).jti)
    event.kid = String(decodeProtectedHeader(token).kid)
    for (const { service, stalled } of instances)
      if (!stalled && !service.app.keyring.find(event.kid)) unknownKeys.push(event.kid)
  }
  history.push(event)
  return answer
}

const count = (kind: Event['kind']) => history.filter((event) => event.kind === kind && event.status === 200).length
const isEnough = () =>
  (['machine', 'proof', 'refresh'] as const).every((kind) => count(kind) > 20) &&
  suspendedMs.size > 2 &&
  rotations > 1 &&
  history.some(({ client_id, status }) => status === 401 && suspendedMs.has(client_id))
let beganMs = 0
const goesOn = () => {
  const ranMs = performance.now() - beganMs
  return ranMs < RUN_MS || (!isEnough() && ranMs < LONGEST_MS)
}

/** Repeats the work until the end. */
async function loop(step: () => Promise<unknown>): Promise<void> {
  while (goesOn()) {
    await step()
    await pause(randomInt(20))
  }
}

/** One sign-in whose refresh tokens are used, sometimes twice concurrently, at any instance. */
async function refreshing(signIn: () => Promise<{ client: Client; token: string } | undefined>): Promise<void> {
  while (goesOn()) {
    const begun = await signIn().catch(() => undefined)
    let token = begun?.token
    while (begun && token && goesOn()) {
      const use = { grant_type: 'refresh_token', refresh_token: token }
      const answers = await Promise.all(
        Array.from({ length: randomInt(8) === 0 ? 2 : 1 }, () =>
          ask('refresh', one(), begun.client, use, { once: token }),
        ),
      )
      const next = answers.find((answer) => answer?.status === 200)?.body['refresh_token']
      token = next === undefined ? undefined : String(next)
      await pause(randomInt(30))
    }
    await pause(50)
  }
}

async function rotate(): Promise<void> {
  const answer = await callAdmin(one(), 'POST', '/admin/keys/rotate').catch(() => undefined)
  if (answer?.status === 200) rotations++
}

async function suspend(clients: Client[]): Promise<void> {
  const client = clients.find(({ client_id }) => !suspendedMs.has(client_id))
  if (!client) return
  const answer = await callAdmin(one(), 'PATCH', `/admin/clients/${client.client_id}/suspend`).catch(() => undefined)
  if (answer && answer.status < 300) suspendedMs.set(client.client_id, performance.now())
}

/** The faults, in order. */
async function faults(): Promise<void> {
  const name = new URL(dsn).pathname.slice(1)
  const terminate = () =>
    server.sql(
      dsn.replace(name, 'postgres'),
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
    )
  const [first, second] = instances as [Instance, Instance]
  await pause(1500)
  await terminate()
  await pause(1500)
  first.stalled = true
  first.proxy.stall()
  await pause(3000)
  first.proxy.resume()
  await pause(1000)
  first.stalled = false
  second.proxy.cut()
  await pause(1000)
  await server.restart?.stop()
  await pause(500)
  await server.restart?.start()
  await pause(1000)
  await terminate()
}

beforeAll(async () => {
  server = await startPostgres({ mayBeShared: false })
  dsn = await server.migrated()
  const shared: Record<string, string> = {
    SERVICE_STORAGE_DRIVER: 'postgres',
    SERVICE_STORAGE_POSTGRES_MAX_CONNS: '8',
    SERVICE_SIGNING_KEY_STORE: 'postgres_key',
    SERVICE_DATA_ENCRYPTION_DRIVER: 'aes_master',
    SERVICE_DATA_ENCRYPTION_KEY: 'ab'.repeat(32),
    SERVICE_SESSION_SECRET: 'a session secret of 32 bytes, at the least',
  }
  for (let i = 0; i < INSTANCES; i++) {
    const proxy = await openProxy(dsn)
    const service = await startService({
      ...shared,
      SERVICE_STORAGE_POSTGRES_DSN: proxy.dsn,
      ...(instances[0] ? { SERVICE_SERVER_ISSUER: instances[0].service.issuer } : {}),
    })
    instances.push({ service, proxy, stalled: false })
  }
  await run()
}, 240_000)

async function run(): Promise<void> {
  const a = (instances[0] as Instance).service
  const clients = await Promise.all(Array.from({ length: 8 }, () => addClient(a)))
  const [steady, user, resource] = [await addClient(a), await addUser(a), await addResource(a)]
  const browser = new Browser()
  const signIn = async () => {
    const authorized = await authorize(a, steady, user, { resource: resource.uri }, browser)
    const { status, body } = await redeem(a, steady, authorized)
    return status === 200 ? { client: steady, token: String(body['refresh_token']) } : undefined
  }
  const keys = await Promise.all(Array.from({ length: 4 }, () => proofKey()))
  const machine = { grant_type: 'client_credentials' }
  beganMs = performance.now()
  await Promise.all([
    faults(),
    ...[1, 2, 3, 4].map(() => loop(() => ask('machine', one(), any(clients), machine))),
    loop(async () => {
      const headers = await dpop(a, any(keys))
      const uses = [1, 2].map(() => ask('proof', one(), steady, machine, { once: headers.dpop, headers }))
      await Promise.all(uses)
    }),
    refreshing(signIn),
    refreshing(signIn),
    loop(async () => {
      await pause(1500)
      await Promise.all([suspend(clients), rotate()])
    }),
  ])
}
afterAll(async () => {
  await Promise.all(instances.map(({ service }) => service.close()))
  for (const { proxy } of instances) proxy.close()
  await server.close()
}, 120_000)

describe('after the faults', () => {
  const acknowledged = () => history.filter(({ status }) => status === 200)
  const acceptedTwice = (kind: Event['kind']) => {
    const accepted = acknowledged().flatMap((event) => (event.kind === kind && event.once ? [event.once] : []))
    return accepted.length - new Set(accepted).size
  }

  test('the history has every kind of event, and successes between the failures', () => {
    expect(isEnough()).toBe(true)
    expect(history.filter(({ status }) => status === 503).length).toBeGreaterThan(0)
    // Only refusals and 503: a 500 would be a fault of this service.
    expect(
      [...new Set(history.map(({ status }) => status))].filter((status) => ![0, 200, 400, 401, 503].includes(status)),
    ).toEqual([])
  })

  test('every answered token has its row', async () => {
    const rows = await server.sql(dsn, `SELECT encode(id, 'hex') AS id FROM issuances`)
    const there = new Set(rows.map(({ id }) => id))
    expect(acknowledged().filter(({ jti = '' }) => !there.has(idBytes(jti).toString('hex')))).toEqual([])
  })

  test('no refresh token and no proof was accepted twice', () => {
    expect([acceptedTwice('refresh'), acceptedTwice('proof')]).toEqual([0, 0])
  })

  test('no client received a token for a request later than the bound after its suspension', () => {
    const late = acknowledged().filter(
      ({ client_id, startedMs }) => startedMs > (suspendedMs.get(client_id) ?? Number.POSITIVE_INFINITY) + STALE_MS,
    )
    expect(late).toEqual([])
  })

  test('no token was signed with a key that a reachable instance did not have', () => {
    expect(unknownKeys).toEqual([])
    expect(new Set(acknowledged().map(({ kid }) => kid)).size).toBeGreaterThan(1)
  })
})
