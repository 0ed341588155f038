// Section K of the attack list: introspection and revocation. One test per row, named by its id.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Database } from '../../src/store/database.ts'
import { metricOf } from '../support/admin.ts'
import { base64url, forge, macOf, proofKey, signedBy } from '../support/dpop.ts'
import { type Answer, machineToken, post } from '../support/flow.ts'
import { addClient, startService, type TestService } from '../support/service.ts'

type Client = { client_id: string; client_secret: string }

describe.each(['uws', 'node'])('on %s', (engine) => {
  let service: TestService
  let client: Client
  beforeAll(async () => {
    service = await startService({ SERVICE_SERVER_HTTP_ENGINE: engine }, undefined, { busyMs: 100 })
    client = await addClient(service)
  })
  afterAll(() => service.close())

  const tokenOf = async (owner: Client) => {
    const { status, body } = await machineToken(service, owner)
    expect(status).toBe(200)
    return String(body['access_token'])
  }
  const introspect = (caller: Parameters<typeof post>[1], token: string) =>
    post(`${service.issuer}/oauth/introspect`, caller, { token })
  const revoke = (caller: Parameters<typeof post>[1], fields: Record<string, string>) =>
    post(`${service.issuer}/oauth/revoke`, caller, fields)
  const isActive = async (token: string) => (await introspect(client, token)).body['active']
  const outcome = ({ status, body }: Answer) => `${status} ${body['error']}`
  const revoked = () => metricOf(service, 'core_tokens_revoked_total{reason="client_request"}')

  test('K01 introspection requires the secret of a confidential client', async () => {
    const token = await tokenOf(client)
    const open = await addClient(service, { token_endpoint_auth_method: 'none' })
    const callers = [
      undefined,
      { ...client, client_secret: `${client.client_secret}x` },
      { client_id: client.client_id },
      { client_id: open.client_id },
      { client_id: 'unknown', client_secret: 'x' },
    ]
    for (const caller of callers) {
      const answer = await introspect(caller, token)
      expect(outcome(answer)).toBe('401 invalid_client')
      expect(answer.headers.get('www-authenticate')).toMatch(/^Basic /)
      expect(answer.body['active']).toBeUndefined()
    }
  })

  test('K03 every value that is not a live token of this service is {"active":false}, without further members', async () => {
    const [header = '', payload = '', signature = ''] = (await tokenOf(client)).split('.')
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
    const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString())
    const stranger = signedBy(await proofKey())
    const own = { typ: 'at+jwt', alg: 'ES256', kid }
    const tokens = [
      'random',
      'a.b.c',
      '....',
      `${header}.${payload}.`,
      `${header}.${payload}`,
      `${header}.${base64url({ ...claims, scope: 'more' })}.${signature}`,
      forge({ ...own, alg: 'none' }, claims, () => ''),
      forge({ ...own, alg: 'HS256' }, claims, macOf(service.app.keyring.jwks().body)),
      forge(own, claims, stranger),
      forge(own, { ...claims, iss: 'https://other.example' }, stranger),
      forge({ ...own, kid: '../../etc/passwd' }, claims, stranger),
      `rt_${'A'.repeat(64)}`,
      'x'.repeat(20_000),
    ]
    for (const token of tokens) {
      const { status, body, headers } = await introspect(client, token)
      expect({ status, body }).toEqual({ status: 200, body: { active: false } })
      expect(headers.get('cache-control')).toBe('no-store')
    }
    expect(await isActive([header, payload, signature].join('.'))).toBe(true)
    service.advance(86_400)
    expect((await introspect(client, [header, payload, signature].join('.'))).body).toEqual({ active: false })
  })

  test('K05 a wrong hint still finds the token; tokens of others and malformed values are 200 and change nothing; a body that is too large is 413', async () => {
    const other = await addClient(service)
    const [mine, foreign] = [await tokenOf(client), await tokenOf(other)]
    for (const token of [foreign, 'garbage', '', 'a.b.c', `rt_${'A'.repeat(64)}`].filter(Boolean)) {
      const answer = await revoke(client, { token })
      expect({ status: answer.status, body: answer.body }).toEqual({ status: 200, body: {} })
    }
    expect((await introspect(other, foreign)).body['active']).toBe(true)
    // RFC 7009 leaves the answer to an unknown hint open: it is refused, and nothing is revoked.
    expect(outcome(await revoke(client, { token: mine, token_type_hint: 'saml2' }))).toBe('400 unsupported_token_type')
    expect(await isActive(mine)).toBe(true)
    expect(outcome(await revoke(client, { token: 'x'.repeat(1024 * 1024) }))).toMatch(/^413 /)
    expect((await revoke(client, { token: mine, token_type_hint: 'refresh_token' })).status).toBe(200)
    expect(await isActive(mine)).toBe(false)
  })

  test('K07 a revocation while the storage is unavailable is 503 with Retry-After, never 200, and succeeds afterwards', async () => {
    const token = await tokenOf(client)
    const other = new Database(service.app.config.storage.sqlite.path)
    other.exec('BEGIN EXCLUSIVE')
    const answer = await revoke(client, { token }).finally(() => {
      other.exec('ROLLBACK')
      other.close()
    })
    expect(outcome(answer)).toBe('503 temporarily_unavailable')
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(await isActive(token)).toBe(true)
    expect((await revoke(client, { token })).status).toBe(200)
    expect(await isActive(token)).toBe(false)
  })

  test('K08 concurrent revocations are all 200, and one is counted', async () => {
    const token = await tokenOf(client)
    const before = await revoked()
    const answers = await Promise.all(Array.from({ length: 8 }, () => revoke(client, { token })))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(await revoked()).toBe(before + 1)
    expect(await isActive(token)).toBe(false)
  })
})

test('K04 guessing tokens reaches the rate limit, with Retry-After, before any look-up', async () => {
  const service = await startService({
    SERVICE_RATE_LIMIT_ENABLED: 'true',
    SERVICE_RATE_LIMIT_REQUESTS_PER_SECOND: '1',
    SERVICE_RATE_LIMIT_BURST: '10',
  })
  try {
    const client = await addClient(service)
    const scan = (_: unknown, i: number) => post(`${service.issuer}/oauth/introspect`, client, { token: `guess-${i}` })
    const answers = await Promise.all(Array.from({ length: 200 }, scan))
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused.length).toBeGreaterThanOrEqual(180)
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    for (const { body } of answers.filter(({ status }) => status === 200)) expect(body).toEqual({ active: false })
    expect((await fetch(`${service.issuer}/health`)).status).toBe(200)
  } finally {
    await service.close()
  }
})
