import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createGatekeeper } from '../../src/admin/gatekeeper.ts'
import { loadConfig } from '../../src/config/load.ts'
import { createSealer } from '../../src/crypto/seal.ts'
import { systemClock } from '../../src/lib/time.ts'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { aloneWithBuckets } from '../support/buckets.ts'
import { runHere } from '../support/cli.ts'
import { tempFile } from '../support/folder.ts'
import { head } from '../support/head.ts'
import { ADMIN_KEY, startService, type TestService } from '../support/service.ts'
import { refusalOf } from '../support/thrown.ts'

const sha256 = (key: string) => createHash('sha256').update(key).digest('hex')
const ALICE = 'key-of-alice-0123456789'
const READER = 'key-of-reader-0123456789'
const KEYS = [
  { name: 'alice', sha256: sha256(ALICE).toUpperCase(), capability: 'write' },
  { name: 'reader', sha256: sha256(READER), capability: 'read' },
]
const configFile = (admin: object) => tempFile('service.yaml', { admin })

describe('named keys', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService({}, configFile({ api_keys: KEYS }))
  })
  afterAll(() => service.close())
  const as = (key: string, method: string, path: string, body?: object) =>
    callAdmin(service, method, path, body, { authorization: `Bearer ${key}`, 'content-type': 'application/json' })

  test('the audit trail names the key that made each change', async () => {
    for (const [key, actor] of [
      [ALICE, 'admin:alice'],
      [ADMIN_KEY, 'admin'],
    ] as const) {
      const client = { client_name: 'Job', redirect_uris: ['https://client.example.com/cb'] }
      const { status, body } = await as(key, 'POST', '/admin/clients', client)
      expect(status).toBe(201)
      const events = await okAdmin<{ actor_id: string }[]>(
        service,
        'GET',
        `/admin/audit?client_id=${body['client_id']}`,
      )
      expect(events.map(({ actor_id }) => actor_id)).toEqual([actor])
    }
  })

  test('a key with the capability read gets the same refusal for every write, and for paths that do not exist', async () => {
    expect((await as(READER, 'GET', '/admin/clients')).status).toBe(200)
    expect((await as(READER, 'HEAD', '/admin/clients')).status).toBe(200)
    expect((await as(READER, 'GET', '/admin/nothing')).status).toBe(404)
    for (const [method, path] of [
      ['POST', '/admin/clients'],
      ['PATCH', '/admin/clients/x'],
      ['DELETE', '/admin/users/x'],
      ['PUT', '/admin/settings/dcr'],
      ['POST', '/admin/keys/rotate'],
      ['POST', '/admin/revocations'],
    ] as const) {
      const answer = await as(READER, method, path, method === 'DELETE' ? undefined : {})
      expect([answer.status, answer.body['error']], `${method} ${path}`).toEqual([403, 'access_denied'])
    }
  })

  test('POST /admin/auth/verify reports the owner and the capability of each key: read is viewer, and write is admin', async () => {
    for (const [key, actor_id, capability] of [
      [ADMIN_KEY, 'admin', 'admin'],
      [ALICE, 'admin:alice', 'admin'],
      [READER, 'admin:reader', 'viewer'],
    ] as const) {
      const { status, body } = await as(key, 'POST', '/admin/auth/verify')
      expect([status, body]).toEqual([200, { valid: true, version: service.app.build.version, actor_id, capability }])
    }
    expect((await as('wrong', 'POST', '/admin/auth/verify')).status).toBe(401)
  })

  test.each([
    ['the hash instead of the key', sha256(ALICE)],
    ['another case', ALICE.toUpperCase()],
    ['nothing', ''],
    ['the name', 'alice'],
  ])('%s is not a key', async (_what, key) => {
    expect((await as(key, 'GET', '/admin/clients')).status).toBe(401)
  })

  test('the configuration is shown without the hashes of the keys', async () => {
    const shown = await okAdmin<{ admin: { api_keys: object[] } }>(service, 'GET', '/admin/system/config')
    expect(shown.admin.api_keys).toEqual(KEYS.map((key) => ({ ...key, sha256: '***' })))
  })

  test('the command line accepts a named key, and exits with 5 when the key is refused', async () => {
    const env = {
      SERVICE_ADMIN_ADDRESS: service.app.config.admin.address,
      SERVICE_ADMIN_API_KEY: READER,
      SERVICE_STORAGE_SQLITE_PATH: '/nowhere/service.db',
    }
    expect((await runHere(['admin', 'user', 'list'], env)).code).toBe(0)
    const { code, stderr } = await runHere(['admin', 'key', 'rotate'], env)
    expect([code, stderr]).toEqual([
      5,
      'error: this needs the capability admin; the caller has viewer [access_denied]\n',
    ])
  })
})

describe('the configuration of keys', () => {
  test.each([
    ['a name twice', [KEYS[0], { ...KEYS[1], name: 'alice' }]],
    ['a key twice, whatever its case', [KEYS[0], { ...KEYS[1], sha256: sha256(ALICE) }]],
    ['a key in plain text', [{ ...KEYS[0], sha256: ALICE }]],
    ['the hash of an empty key', [{ ...KEYS[0], sha256: sha256('') }]],
    ['another capability', [{ ...KEYS[0], capability: 'all' }]],
    ['a name with a colon', [{ ...KEYS[0], name: 'a:b' }]],
    ['an unknown member', [{ ...KEYS[0], key: ALICE }]],
  ])('refuses %s', (_what, api_keys) => {
    expect(() => loadConfig(configFile({ api_keys }), {})).toThrow(/admin\.api_keys/)
  })
})

describe('wrong keys', () => {
  const { config } = loadConfig(undefined, { SERVICE_ADMIN_API_KEY: ADMIN_KEY })
  const alone = {
    ...aloneWithBuckets,
    findApiKey: async () => undefined,
    touchApiKey: async () => {},
    findAdminSession: async () => undefined,
  }
  const guardOf = (more: Partial<typeof alone> = {}, by = config) =>
    createGatekeeper({
      config: by,
      store: { ...alone, ...more },
      clock: systemClock,
      sealer: createSealer(['test']),
      oidc: [],
    }).guard('viewer')
  const ask = (guard: ReturnType<typeof guardOf>, key: string, remote = '192.0.2.1') =>
    guard({ ...head({ headers: { authorization: `Bearer ${key}` } }), remote })
  async function refusals(count: number, each: () => Promise<void>): Promise<string[]> {
    const outcomes: string[] = []
    for (let i = 0; i < count; i++)
      outcomes.push(
        await each().then(
          () => 'let in',
          (error: { code: string }) => error.code,
        ),
      )
    return outcomes
  }

  test('after twenty wrong keys an address must wait before another wrong one; the right key is always accepted', async () => {
    const guard = guardOf()
    expect(new Set(await refusals(20, () => ask(guard, 'wrong')))).toEqual(new Set(['unauthorized']))
    const error = await refusalOf(() => ask(guard, 'wrong'))
    expect([error.status, error.code, error.more.headers]).toEqual([429, 'slow_down', { 'retry-after': '1' }])
    await ask(guard, ADMIN_KEY)
    await ask(guard, ADMIN_KEY, '192.0.2.2')
    expect(await refusals(1, () => ask(guard, 'wrong', '192.0.2.2'))).toEqual(['unauthorized'])
  })

  test('requests with the right key or without a key are not counted as failures', async () => {
    const guard = guardOf()
    expect(new Set(await refusals(50, () => ask(guard, ADMIN_KEY)))).toEqual(new Set(['let in']))
    expect(new Set(await refusals(50, () => ask(guard, '')))).toEqual(new Set(['unauthorized']))
    await ask(guard, ADMIN_KEY)
  })

  test('failures that other instances counted make an address wait here too; a refused request does not query the store', async () => {
    const takeFromBucket = vi.fn(async () => 2_000_000)
    const guard = guardOf({ takeFromBucket })
    expect(await refusals(1, () => ask(guard, 'wrong'))).toEqual(['unauthorized'])
    await takeFromBucket.mock.results[0]?.value
    const error = await refusalOf(() => ask(guard, 'wrong'))
    expect([error.code, error.more.headers]).toEqual(['slow_down', { 'retry-after': '2' }])
    await ask(guard, ADMIN_KEY)
    expect(takeFromBucket).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ name: 'admin_key 192.0.2.1' }))
  })

  test('failures are counted in this instance when the store is unavailable', async () => {
    const takeFromBucket = () => Promise.reject(new Error('away'))
    const guard = guardOf({ takeFromBucket })
    expect(await refusals(21, () => ask(guard, 'wrong'))).toEqual([...Array(20).fill('unauthorized'), 'slow_down'])
  })

  test('wrong keys are not limited when rate limits are off', async () => {
    const { config: unlimited } = loadConfig(undefined, {
      SERVICE_ADMIN_API_KEY: ADMIN_KEY,
      SERVICE_RATE_LIMIT_ENABLED: 'false',
    })
    const guard = guardOf({}, unlimited)
    expect(new Set(await refusals(50, () => ask(guard, 'wrong')))).toEqual(new Set(['unauthorized']))
  })
})
