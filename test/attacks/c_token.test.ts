// Attacks on the token endpoint and on client authentication: section C of the attack list, one test per row.

import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { gzipSync } from 'node:zlib'
import { decodeJwt } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { digest } from '../../src/lib/id.ts'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { addExchanger, exchange, type Registered } from '../support/exchange.ts'
import { post } from '../support/flow.ts'
import { watchLog } from '../support/log.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'
import { Wire } from '../support/wire.ts'

let service: TestService
let client: Registered
beforeAll(async () => {
  service = await startService()
  client = await addClient(service)
})
afterAll(() => service.close())
afterEach(() => {
  vi.restoreAllMocks()
  syncBuiltinESMExports()
})

const CLIENT_CREDENTIALS = { grant_type: 'client_credentials' }
const FORM = 'application/x-www-form-urlencoded'
const basic = (id: string, secret: string) => `Basic ${Buffer.from(`${id}:${secret}`, 'utf8').toString('base64')}`

/** Sends a body without changes. */
async function send(body: string | Buffer, headers: Record<string, string> = {}, query = '') {
  const response = await fetch(`${service.issuer}/oauth/token${query}`, {
    method: 'POST',
    headers: { 'content-type': FORM, ...headers },
    body: typeof body === 'string' ? body : new Uint8Array(body),
  })
  const problem = (await response.json()) as Record<string, unknown>
  return { status: response.status, error: problem['error'], body: problem, headers: response.headers }
}
const token = (fields: Record<string, string | undefined>, headers: Record<string, string> = {}) =>
  send(new URLSearchParams(JSON.parse(JSON.stringify(fields))).toString(), headers)

describe('C02 the Basic header and the form name different clients', () => {
  test('the request is refused, whichever secret is right', async () => {
    const other = await addClient(service)
    const header = { authorization: basic(client.client_id, client.client_secret) }
    for (const fields of [
      { client_id: other.client_id },
      { client_id: other.client_id, client_secret: other.client_secret },
      { client_id: client.client_id, client_secret: client.client_secret },
    ])
      expect((await token({ ...CLIENT_CREDENTIALS, ...fields }, header)).error).toBe('invalid_request')
    const { client_id } = other
    expect(await service.app.store.listIssuances({ client_id, since: '', limit: 1 })).toEqual([])
  })
})

test('C03 a confidential client that sends only its client_id is refused with 401 and a challenge', async () => {
  const { client_id } = client
  for (const fields of [{ client_id }, { client_id, client_secret: '' }]) {
    const answer = await token({ ...CLIENT_CREDENTIALS, ...fields })
    expect([answer.status, answer.error]).toEqual([401, 'invalid_client'])
    expect(answer.headers.get('www-authenticate')).toMatch(/^Basic /)
  }
})

test('C03 a token in the Authorization header is named as the reason, and a header that is no header is not', async () => {
  const { client_id, client_secret } = client
  for (const scheme of ['Bearer', 'bearer', 'DPoP'])
    for (const fields of [{}, { client_id }, { client_id, client_secret }]) {
      const answer = await token({ ...CLIENT_CREDENTIALS, ...fields }, { authorization: `${scheme} abc.def.ghi` })
      expect([answer.status, answer.error]).toEqual([401, 'invalid_client'])
      expect(answer.body['error_description']).toContain('Authorization header has a Bearer or DPoP token')
      expect(answer.headers.get('www-authenticate')).toMatch(/^Basic /)
    }
  const unknown = await token({ ...CLIENT_CREDENTIALS, client_id }, { authorization: 'Bearers x' })
  expect(unknown.body['error_description']).toBe('client authentication failed')
})

// Both methods send the same secret, and RFC 6749 §2.3.1 requires servers to support Basic, so a client may use either.
test('C04 the right secret is accepted in the header and in the form, a wrong one in neither, and a secret of a public client is refused', async () => {
  const open = await addClient(service, { token_endpoint_auth_method: 'none' })
  for (const method of ['client_secret_basic', 'client_secret_post']) {
    const { client_id, client_secret } = await addClient(service, { token_endpoint_auth_method: method })
    const both = (secret: string) => [
      token(CLIENT_CREDENTIALS, { authorization: basic(client_id, secret) }),
      token({ ...CLIENT_CREDENTIALS, client_id, client_secret: secret }),
    ]
    expect((await Promise.all(both(client_secret))).map(({ status }) => status)).toEqual([200, 200])
    expect((await Promise.all(both('wrong'))).map(({ status }) => status)).toEqual([401, 401])
  }
  const { client_id } = open
  const refresh = { grant_type: 'refresh_token', refresh_token: 'x' }
  for (const secret of ['x', client.client_secret]) {
    expect((await token({ ...refresh, client_id, client_secret: secret })).error).toBe('invalid_client')
    expect((await token(refresh, { authorization: basic(client_id, secret) })).error).toBe('invalid_client')
  }
})

test('C06 credentials in the query are ignored and never logged', async () => {
  const lines = watchLog(service.app.log)
  const { client_id, client_secret } = client
  const query = `?${new URLSearchParams({ ...CLIENT_CREDENTIALS, client_id, client_secret })}`
  for (const body of ['', 'grant_type=client_credentials']) {
    const answer = await send(body, {}, query)
    expect(answer.status).toBe(body === '' ? 400 : 401)
    expect(JSON.stringify(answer.body)).not.toContain(client_secret)
  }
  expect(lines.length).toBeGreaterThan(0)
  expect(JSON.stringify(lines)).not.toContain(client_secret)
})

describe('C07 a body that is not a form', () => {
  const fields = () =>
    new URLSearchParams({ ...CLIENT_CREDENTIALS, client_id: client.client_id, client_secret: client.client_secret })
  const cases: [string, () => [string | Buffer, Record<string, string>]][] = [
    ['JSON', () => [JSON.stringify(Object.fromEntries(fields())), { 'content-type': 'application/json' }]],
    ['a form that says it is JSON', () => [String(fields()), { 'content-type': 'application/json' }]],
    ['text', () => [String(fields()), { 'content-type': 'text/plain' }]],
    ['multipart', () => [String(fields()), { 'content-type': 'multipart/form-data; boundary=x' }]],
    ['no type', () => [String(fields()), { 'content-type': '' }]],
    ['UTF-16', () => [Buffer.from(String(fields()), 'utf16le'), { 'content-type': `${FORM}; charset=utf-16` }]],
    ['Latin-1', () => [Buffer.from('grant_type=é', 'latin1'), { 'content-type': `${FORM}; charset=iso-8859-1` }]],
    ['gzip', () => [gzipSync(String(fields())), { 'content-encoding': 'gzip' }]],
  ]
  test.each(cases)('%s is refused with 400 or 415', async (_what, make) => {
    const answer = await send(...make())
    expect([400, 415]).toContain(answer.status)
    expect(answer.body).not.toHaveProperty('access_token')
  })
})

test.each([
  '',
  '; charset=UTF8',
  ';charset=ISO-8859-1',
  '; charset="us-ascii"',
  '; charset=',
  '; charset=utf-16',
  '; boundary=x',
])('C07 a form whose type has the parameter %j is read as UTF-8', async (parameter) => {
  const fields = { ...CLIENT_CREDENTIALS, client_id: client.client_id, client_secret: client.client_secret }
  const answer = await send(String(new URLSearchParams(fields)), { 'content-type': FORM + parameter })
  expect(answer.status).toBe(200)
})

describe('C08 grant types', () => {
  test('a repeated grant_type is refused', async () => {
    const answer = await send('grant_type=client_credentials&grant_type=refresh_token')
    expect([answer.status, answer.error]).toEqual([400, 'invalid_request'])
  })

  const UNKNOWN = [
    'password',
    'implicit',
    'urn:ietf:params:oauth:grant-type:saml2-bearer',
    'CLIENT_CREDENTIALS',
    'client_credentials ',
    '__proto__',
    'constructor',
    '<script>alert(1)</script>',
    'x'.repeat(10_240),
  ]
  test.each(UNKNOWN.map((each) => [each.slice(0, 50), each]))(
    'an unknown grant type is refused, and not repeated in the answer: %s',
    async (_shown, grant_type) => {
      const answer = await token({ grant_type })
      expect([answer.status, answer.error]).toEqual([400, 'unsupported_grant_type'])
      expect(JSON.stringify(answer.body)).not.toContain(grant_type)
    },
  )
})

describe('C10 bodies that are too large', () => {
  const head = (more: string) =>
    `POST /oauth/token HTTP/1.1\r\nhost: ${new URL(service.issuer).host}\r\ncontent-type: ${FORM}\r\n${more}\r\n\r\n`
  const open = () => Wire.open(Number(new URL(service.issuer).port), 'localhost')

  test('a hundred thousand parameters in a megabyte are refused without being parsed', async () => {
    const body = Array.from({ length: 100_000 }, (_, i) => `p${i}=${i}`).join('&')
    expect((await send(body)).status).toBe(413)
  })

  test('too many parameters are refused although the body is within the size limit', async () => {
    const many = Array.from({ length: 5000 }, (_, i) => `p${i}=${i}`).join('&')
    const answer = await send(many)
    expect([answer.status, answer.error]).toEqual([400, 'invalid_request'])
  })

  test('a body with a Content-Length of ten megabytes is refused before it is received, and the connection is closed', async () => {
    const wire = (await open()).send(head(`content-length: ${10 * 1024 * 1024}`))
    expect((await wire.answer()).status).toBe(413)
    await wire.closed()
  })

  test('an endless chunked body is aborted at the limit', async () => {
    const wire = (await open()).send(head('transfer-encoding: chunked'))
    const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`
    for (let i = 0; i < 8 && !wire.isClosed; i++) wire.send(chunk)
    expect((await wire.answer()).status).toBe(413)
    await wire.closed()
  })
})

// The test compares the operations and not the time, because a difference of microseconds is not visible over HTTP.
test('C11 a refusal needs the same operations for every wrong secret and for an unknown client: one hash, one comparison in constant time', async () => {
  const { client_id, client_secret } = client
  const wrong = [
    [client_id, `${client_secret.slice(0, -1)}_`],
    [client_id, `cs_${'x'.repeat(client_secret.length - 3)}`],
    [client_id, 'short'],
    [`c_${'x'.repeat(client_id.length - 2)}`, client_secret],
  ] as const
  for (const [id, secret] of wrong) {
    const hashed = vi.spyOn(crypto, 'hash')
    const compared = vi.spyOn(crypto, 'timingSafeEqual')
    syncBuiltinESMExports()
    const { status } = await token(CLIENT_CREDENTIALS, { authorization: basic(id, secret) })
    expect(status).toBe(401)
    expect(
      hashed.mock.calls.filter(([, text]) => text === secret),
      id,
    ).toHaveLength(1)
    const lengths = compared.mock.calls.map((both) => both.map(({ byteLength }) => byteLength))
    expect(lengths, id).toEqual([[digest(secret).length, digest(client_secret).length]])
    vi.restoreAllMocks()
    syncBuiltinESMExports()
  }
})

describe('C12 malformed secrets', () => {
  // Secrets are hashed once with SHA-256, and a form has at most 64 KiB, so hashing cannot be used to cause load.
  test('a secret of a megabyte is refused before it is hashed', async () => {
    const secret = 'x'.repeat(1_000_000)
    expect((await token({ ...CLIENT_CREDENTIALS, client_id: client.client_id, client_secret: secret })).status).toBe(
      413,
    )
  })

  test('a secret with NUL, in another normal form, percent-encoded twice, or with surrounding spaces is refused', async () => {
    const { client_id, client_secret } = client
    const odd = [
      `${client_secret}\0`,
      `\0${client_secret}`,
      `${client_secret} `,
      ` ${client_secret}`,
      `${client_secret}\n`,
    ]
    const more = [`${client_secret}\u0301`, encodeURIComponent(encodeURIComponent(`${client_secret}%`)), '\0']
    for (const secret of [...odd, ...more]) {
      expect((await token(CLIENT_CREDENTIALS, { authorization: basic(client_id, secret) })).status, secret).toBe(401)
      const inForm = await token({ ...CLIENT_CREDENTIALS, client_id, client_secret: secret })
      expect([400, 401], secret).toContain(inForm.status)
    }
  })
})

// invalid_client and not unauthorized_client: it is refused before its registration is checked.
test('C14 a public client gets no client_credentials token and cannot exchange tokens', async () => {
  const open = await addClient(service, { token_endpoint_auth_method: 'none' })
  expect((await post(`${service.issuer}/oauth/token`, open, CLIENT_CREDENTIALS)).body['error']).toBe('invalid_client')
  // Also when its record lists the grant type.
  const listed = await addExchanger(service, { token_endpoint_auth_method: 'none' })
  expect((await post(`${service.issuer}/oauth/token`, listed, CLIENT_CREDENTIALS)).body['error']).toBe('invalid_client')
  expect((await exchange(service, listed, { subject_token: 'x' })).body['error']).toBe('invalid_client')
})

test('C15 a machine token has no scope beyond the registration or the resource, and no audience without a resource', async () => {
  const resource = await addResource(service, { scopes: ['mcp:read'] })
  const ask = (fields: Record<string, string>) =>
    post(`${service.issuer}/oauth/token`, client, { ...CLIENT_CREDENTIALS, ...fields })
  expect((await ask({ scope: 'mcp:admin' })).body['error']).toBe('invalid_scope')
  expect((await ask({ scope: 'mcp:write', resource: resource.uri })).body['error']).toBe('invalid_scope')
  expect((await ask({ resource: `${resource.uri}/` })).body['error']).toBe('invalid_target')
  const { body } = await ask({})
  expect(decodeJwt(String(body['access_token']))).not.toHaveProperty('aud')
})

test('C16 a client cannot get the id of a user, so that sub identifies one of them', async () => {
  const user = await addUser(service)
  const fields = {
    client_name: 'Twin',
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'client_secret_basic',
  }
  for (const client_id of [user.id, 'u_anybody', 'u_'])
    expect((await callAdmin(service, 'POST', '/admin/clients', { ...fields, client_id })).status, client_id).toBe(400)
  await okAdmin(service, 'POST', '/admin/clients', { ...fields, client_id: 'not-a-user' })
})

test('C18 error_description contains only the characters of RFC 6749 §5.2, for any input', async () => {
  for (const odd of ['"quoted"', 'back\\slash', 'line\r\nbreak', '😀', '\u0001\u007f', 'ä']) {
    const answer = await post(`${service.issuer}/oauth/token`, client, {
      ...CLIENT_CREDENTIALS,
      scope: `mcp:read ${odd}`,
    })
    expect(answer.body['error_description']).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
    const other = await token({ grant_type: odd })
    expect(other.body['error_description']).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
  }
})
