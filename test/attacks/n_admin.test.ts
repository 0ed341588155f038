// Section N of the attack list: the admin listener and the command line. One test per row, named by its id.
import { readdirSync, statSync } from 'node:fs'
import { request } from 'node:http'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { keyfileStore } from '../../src/crypto/keyfile.ts'
import { openKeyring } from '../../src/crypto/keyring.ts'
import { storedKeys } from '../../src/crypto/stored_keys.ts'
import { systemClock } from '../../src/lib/time.ts'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { envOf, okHere, runCli, runHere } from '../support/cli.ts'
import { aPerson } from '../support/exchange.ts'
import { machineToken } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { silentLog } from '../support/log.ts'
import {
  ADMIN_KEY,
  addClient,
  addResource,
  addUser,
  PASSWORD,
  startService,
  type TestService,
} from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const bearer = `Bearer ${ADMIN_KEY}`
/** The status of a request whose headers are sent unchanged. */
const raw = (method: string, path: string, headers: Record<string, string | string[]>, body = '') =>
  new Promise<number>((resolve, reject) => {
    const asked = request(service.admin + path, {
      method,
      headers: { 'content-length': String(body.length), ...headers },
    })
    asked.on('error', reject).on('response', (response) => resolve(response.resume().statusCode ?? 0))
    asked.end(body)
  })

test.each<[string, Record<string, string | string[]>, string?]>([
  ['no key', {}],
  ['a wrong key', { authorization: 'Bearer wrong' }],
  ['the key in the query', {}, `?api_key=${ADMIN_KEY}&access_token=${ADMIN_KEY}`],
  ['the key in other headers', { 'x-api-key': ADMIN_KEY, cookie: `key=${ADMIN_KEY}` }],
  ['the scheme in lower case', { authorization: `bearer ${ADMIN_KEY}` }],
  ['an empty key', { authorization: 'Bearer ' }],
  ['the key with more behind it', { authorization: `${bearer}x` }],
])('N01 %s is 401', async (_what, headers, query = '') => {
  expect(await raw('GET', `/admin/clients${query}`, headers)).toBe(401)
})

test.each([[[bearer, bearer]], [['Bearer wrong', bearer]]])(
  'N01 two headers are no request at all: %j',
  async (authorization) => {
    expect(await raw('GET', '/admin/clients', { authorization })).toBe(400)
  },
)

test('N03 DNS rebinding gives no access: the key is required, and no HTML form can send a request', async () => {
  const evil = { host: 'evil.example.com', origin: 'https://evil.example.com' }
  expect(await raw('GET', '/admin/clients', evil)).toBe(401)
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])
    expect(await raw('POST', '/admin/clients', { ...evil, authorization: bearer, 'content-type': type }, '{}')).toBe(
      415,
    )
  const preflight = await fetch(`${service.admin}/admin/clients`, {
    method: 'OPTIONS',
    headers: { origin: 'https://evil.example.com', 'access-control-request-method': 'POST' },
  })
  expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([401, null])
})

test.each([
  ['/admin/clients', 'limit', '-1'],
  ['/admin/clients', 'limit', '1e9'],
  ['/admin/clients', 'limit', '1;DROP TABLE clients'],
  ['/admin/clients', 'status', "active' OR '1'='1"],
  ['/admin/clients', 'after', "' UNION SELECT secret_hash FROM clients --"],
  ['/admin/users', 'offset', '-1'],
  ['/admin/users', 'after', "x') OR (1=1"],
  ['/admin/audit', 'after', 'AAAAAAAAAAAAAAAAAAAAAB'],
  ['/admin/audit', 'action', "x' OR 1=1 --"],
  ['/admin/issuances', 'after', "'; DELETE FROM issuances; --"],
  ['/admin/issuances', 'since', '1h; DROP'],
])('N04 %s refuses %s=%s', async (path, name, value) => {
  const answer = await callAdmin(service, 'GET', `${path}?${new URLSearchParams({ [name]: value })}`)
  expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_request'])
})

test.each([
  ['/admin/users', 'email'],
  ['/admin/audit', 'client_id'],
  ['/admin/audit', 'actor_id'],
  ['/admin/audit/export', 'client_id'],
])('N04 %s takes the %s that it is asked for literally', async (path, name) => {
  await addUser(service)
  for (const value of ["' OR 1=1 --", '%', '_', 'x"; DROP TABLE users; --']) {
    const answer = await callAdmin<unknown[]>(service, 'GET', `${path}?${new URLSearchParams({ [name]: value })}`)
    expect([answer.status, answer.body ?? []], value).toEqual([200, []])
  }
  expect((await okAdmin<unknown[]>(service, 'GET', '/admin/users')).length).toBeGreaterThan(0)
})

test.each(['99999d', '-1h', '1h; DROP', '31d', 'NaN', '1e9h', ''.padEnd(5000, '1h')])(
  'N05 since=%s is 400',
  async (since) => {
    const { status } = await callAdmin(service, 'GET', `/admin/issuances?${new URLSearchParams({ since })}`)
    expect(status).toBe(400)
  },
)

test('N07 records in use are not deleted: a resource with consents, a client with tokens', async () => {
  const client = await addClient(service)
  await machineToken(service, client)
  const of = `/admin/clients/${client.client_id}`
  expect((await callAdmin(service, 'DELETE', of)).status).toBe(409)
  expect((await callAdmin(service, 'DELETE', `${of}?force=true`)).status).toBe(204)
  const resource = await addResource(service)
  await (await aPerson(service)).consent(await addClient(service), resource)
  expect((await callAdmin(service, 'DELETE', `/admin/resources/${resource.id}`)).status).toBe(409)
})

test('N08 a patch cannot change fixed members or the prototype', async () => {
  const client = await addClient(service)
  const of = `/admin/clients/${client.client_id}`
  const patch =
    '{"client_id":"stolen","registration_source":"dcr","secret_hash":"x","secrets":[],"status":"suspended","version":9,"__proto__":{"is_agent":true},"constructor":{"prototype":{"polluted":1}}}'
  const { status, body } = await callAdmin(service, 'PATCH', of, patch)
  expect(status).toBe(200)
  expect(body).toMatchObject({
    client_id: client.client_id,
    registration_source: 'admin',
    status: 'active',
    agent: false,
  })
  expect(Reflect.get({}, 'polluted')).toBeUndefined()
  expect(await service.app.store.findClient(client)).toMatchObject({ secrets: client.secrets, version: 1 })
})

test('N09 concurrent rotations on two instances leave one current key, and every token can be verified', async () => {
  const folder = path.join(tempFolder(), 'keys')
  const open = () =>
    openKeyring({
      source: storedKeys({
        store: keyfileStore(folder),
        alg: 'ES256',
        longestLife: 3600,
        clock: systemClock,
        log: silentLog,
      }),
      clock: systemClock,
    })
  const rings = [await open(), await open()] as const
  const signedWith = new Set<string>()
  await Promise.all(
    Array.from({ length: 20 }, async (_, i) => {
      const ring = rings[i % 2 === 0 ? 0 : 1]
      signedWith.add(ring.current().kid)
      signedWith.add((await ring.rotate()).current_kid)
    }),
  )
  for (const ring of rings) await ring.reload()
  expect(rings[0].jwks().body).toBe(rings[1].jwks().body)
  expect(rings[0].current().kid).toBe(rings[1].current().kid)
  for (const kid of signedWith) expect(rings[0].find(kid)).toBeDefined()
  expect(rings[0].published().filter(({ retired_at, next }) => retired_at === undefined && !next)).toHaveLength(1)
  for (const name of readdirSync(folder)) expect(statSync(path.join(folder, name)).mode & 0o777, name).toBe(0o600)
})

test('N11 the command line refuses oversized input, and shows a secret once', async () => {
  const huge = await runCli(
    ['admin', 'client', 'create', '--json', '-'],
    envOf(service),
    `{"a":"${'x'.repeat(2 ** 21)}"}`,
  )
  expect(huge.code).toBe(2)
  expect(JSON.parse(huge.stderr)).toMatchObject({ error_description: 'standard input holds more than 1048576 bytes' })
  const flags = ['--name', 'Job', '--grant-types', 'client_credentials', '--auth-method', 'client_secret_post']
  const made = JSON.parse(await okHere(['admin', 'client', 'create', ...flags, '--json'], envOf(service)))
  const secret = String(made.client_secret)
  for (const command of ['client list', 'user list', `client update --id ${made.client_id} --name Other`])
    expect(await okHere(['admin', ...command.split(' ')], envOf(service))).not.toContain(secret)
  const created = ['admin', 'user', 'create', '--email', 'n11@example.com', '--name', 'N', '--password', PASSWORD]
  for (const code of [0, 4]) {
    const ran = await runHere(created, envOf(service))
    expect([ran.code, (ran.stdout + ran.stderr).includes(PASSWORD)]).toEqual([code, false])
  }
})

test('N12 a service with a short secret does not start', async () => {
  const { code, stderr } = await runHere(['serve'], { SERVICE_SESSION_SECRET: 'short' })
  expect([code, stderr.includes('error: session.secret (SERVICE_SESSION_SECRET) must be at least 32 bytes')]).toEqual([
    1,
    true,
  ])
})

test('N12 a service with a public issuer does not start without its secrets, and the error names every missing key', async () => {
  const { code, stderr } = await runHere(['serve'], {
    SERVICE_SERVER_ISSUER: 'https://auth.example.com',
    SERVICE_OIDC_ENABLED: 'true',
    SERVICE_OIDC_ISSUER: 'http://id.example.com',
    SERVICE_SIGNING_KEY_STORE: 'postgres',
  })
  expect(code).toBe(1)
  for (const key of ['session.secret', 'admin.api_key', 'oidc.issuer', 'oidc.client_id', 'signing.key_store'])
    expect(stderr).toContain(`error: ${key}`)
})
