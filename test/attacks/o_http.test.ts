// Section O of the attack list: the HTTP layer and denial of service, against a whole service on both engines. One test per
// row, named by its id. The same rules byte by byte, for a listener alone: test/http/engine_rules.ts.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { safeRedirect } from '../../src/endpoints/pages/urls.ts'
import { publicRoutes } from '../../src/endpoints/routes.ts'
import { Buckets } from '../../src/http/rate_limit.ts'
import { matchesPattern } from '../../src/oauth/clients/redirect_pattern.ts'
import { parseScope } from '../../src/oauth/tokens/requested_scope.ts'
import { Browser, fieldsOf } from '../support/browser.ts'
import { signedIn } from '../support/documents.ts'
import { authorizeUrl, register } from '../support/flow.ts'
import { addClient, addUser, PASSWORD, startService, type TestService } from '../support/service.ts'
import { type Answer, pause, Wire } from '../support/wire.ts'

const HOST = 'host: localhost\r\n'
const FORM = 'content-type: application/x-www-form-urlencoded\r\n'
const METADATA = '/.well-known/oauth-authorization-server'

describe.each(['uws', 'node'])('on %s', (engine) => {
  let service: TestService
  let port: number
  beforeAll(async () => {
    service = await startService({
      SERVICE_SERVER_HTTP_ENGINE: engine,
      SERVICE_DCR_MODE: 'open',
      SERVICE_RATE_LIMIT_AUTH_FAIL_MAX: '0',
    })
    port = Number(new URL(service.issuer).port)
  })
  afterAll(() => service.close())

  const isAlive = async () => expect((await fetch(`${service.issuer}/health`)).status).toBe(200)
  const countClients = async () => (await service.app.store.listClients({ limit: 1000, offset: 0 })).length
  /** Sends one request on its own connection; undefined when the connection ends, or no answer arrives. */
  const ask = async (text: string, options: { bodyless?: boolean; ms?: number } = {}): Promise<Answer | undefined> => {
    const wire = await Wire.open(port)
    const answer = await wire
      .send(text)
      .answer(options)
      .catch(() => undefined)
    wire.leave()
    return answer
  }
  const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\n${HOST}${headers}\r\n`

  test('O01 and O03 a request with two lengths is not processed, and neither is a request smuggled behind it', async () => {
    const body = JSON.stringify({ client_name: 'Smuggled', redirect_uris: ['https://evil.example/cb'] })
    const behind = `POST /oauth/register HTTP/1.1\r\n${HOST}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    const lengths = [
      'content-length: 3\r\ntransfer-encoding: chunked\r\n',
      'transfer-encoding: chunked\r\ncontent-length: 3\r\n',
      'content-length: 3\r\ncontent-length: 0\r\n',
      'content-length: \r\n',
      'content-length: +5\r\n',
      'content-length: 5, 5\r\n',
      'content-length: 0x5\r\n',
      'content-length: -1\r\n',
      'transfer-encoding: \r\ncontent-length: 3\r\n',
      'transfer-encoding: xchunked\r\n',
      'transfer-encoding: chunked, identity\r\n',
      'transfer-encoding : chunked\r\n',
    ]
    const before = await countClients()
    const bodies = lengths.map((header) => [header, '0\r\n\r\n'] as const)
    const chunks = [
      '5;ext=\nabc\r\nhello\r\n0\r\n\r\n',
      '0\n\n',
      'zz\r\n',
      '-1\r\n\r\n',
      '0x1\r\na\r\n0\r\n\r\n',
      'fffffffffffffffff\r\n',
    ].map((text) => ['transfer-encoding: chunked\r\n', text] as const)
    for (const [header, text] of [...bodies, ...chunks]) {
      const wire = await Wire.open(port)
      wire.send(`POST /oauth/token HTTP/1.1\r\n${HOST}${FORM}${header}\r\n${text}${behind}`)
      await wire.closesWithin(100)
      expect(wire.text, JSON.stringify(header + text)).not.toMatch(/HTTP\/1.1 (2|3)/)
      wire.leave()
    }
    expect(await countClients()).toBe(before)
    await isAlive()
  })

  test('O04 a repeated Host, Authorization, DPoP or Content-Type header is refused', async () => {
    for (const line of ['host: evil.example', 'authorization: Basic eDp5', 'dpop: x.y.z', 'content-type: text/plain']) {
      const all = `${HOST}authorization: Basic eDp5\r\ndpop: x.y.z\r\n${FORM}`
      const answer = await ask(`POST /oauth/token HTTP/1.1\r\n${all}${line}\r\ncontent-length: 0\r\n\r\n`)
      expect([undefined, 400], line).toContain(answer?.status)
    }
  })

  test('O05 reflected input adds no header: Location, WWW-Authenticate, cookies, problem documents', async () => {
    const browser = await signedIn(service, await addUser(service))
    const client = await addClient(service, { token_endpoint_auth_method: 'none' })
    const evil = '\r\nx-evil: 1\r\n\r\n<html>'
    const url = authorizeUrl(service, { client_id: client.client_id, state: evil, scope: undefined })
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const escaped = encodeURIComponent(evil)
    const answers = [
      await ask(get(url.slice(service.issuer.length), `cookie: ${cookie}\r\n`)),
      await ask(get(`/login?redirect=${escaped}`)),
      await ask(get(`/oauth/authorize?client_id=${escaped}`)),
      await ask(get(`/.well-known/oauth-protected-resource/${escaped}`)),
      await ask(
        `POST /oauth/token HTTP/1.1\r\n${HOST}${FORM}content-length: ${escaped.length + 11}\r\n\r\ngrant_type=${escaped}`,
      ),
    ]
    for (const answer of answers) {
      expect(answer?.status).toBeGreaterThanOrEqual(200)
      expect(answer?.headers['x-evil']).toBeUndefined()
    }
    expect(new URL(answers[0]?.headers['location']?.[0] ?? '').searchParams.get('state')).toBe(evil)
  })

  test('O07 10 MB to any endpoint are refused; bodies that stop, break off or hang do not disturb other requests', async () => {
    for (const path of [
      '/oauth/token',
      '/oauth/introspect',
      '/oauth/revoke',
      '/oauth/register',
      '/login',
      '/consent',
      '/logout',
    ]) {
      const head = `POST ${path} HTTP/1.1\r\n${HOST}${path.endsWith('register') ? 'content-type: application/json\r\n' : FORM}`
      expect((await ask(`${head}content-length: 10485760\r\n\r\n${'x'.repeat(100_000)}`))?.status, path).toBe(413)
      const wire = (await Wire.open(port)).send(`${head}transfer-encoding: chunked\r\n\r\n`)
      for (let i = 0; i < 80 && !wire.isClosed && wire.text === ''; i++) {
        wire.send(`8000\r\n${'x'.repeat(0x8000)}\r\n`)
        await pause(1)
      }
      await wire.closed()
      expect(wire.text === '' || wire.text.startsWith('HTTP/1.1 413'), wire.text.slice(0, 50)).toBe(true)
      for (const leave of ['reset', 'leave'] as const)
        (await Wire.open(port)).send(`${head}content-length: 100\r\n\r\nabc`)[leave]()
      const left = (await Wire.open(port)).send(`${head}content-length: 5\r\n\r\ngrant`)
      left.leave()
    }
    await isAlive()
  })

  test('O08 many headers are accepted; too many header bytes or a URL that is too long get 431 or 414 instead of no answer', async () => {
    const fields = (count: number) => Array.from({ length: count }, (_, i) => `x-${i}: y\r\n`).join('')
    expect((await ask(get(METADATA, fields(40))))?.status).toBe(200)
    // The native parser has space for at most 48 fields, and the older build does not answer (docs/decisions/0006).
    const tooMany = (await ask(get(METADATA, fields(120)), { ms: 500 }))?.status
    expect(engine === 'node' ? [200] : [undefined, 431]).toContain(tooMany)
    expect((await ask(get(METADATA, `x: ${'y'.repeat(8000)}\r\n`)))?.status).toBe(200)
    expect((await ask(get(METADATA, `x: ${'y'.repeat(64_000)}\r\n`)))?.status).toBe(431)
    expect((await ask(get(`${METADATA}?${'y'.repeat(5000)}`)))?.status).toBe(200)
    expect([414, 431]).toContain((await ask(get(`${METADATA}?${'y'.repeat(64_000)}`)))?.status)
    await isAlive()
  })

  test('O09 HEAD works wherever GET has no effects, and has no body; other methods are refused with Allow, TRACE and unknown ones too', async () => {
    const routes = publicRoutes(service.app)
    for (const { method, path, hasEffects } of routes) {
      const real = path.replace('{ref...}', 'x')
      const taken = routes.filter((each) => each.path === path).map((each): string => each.method)
      const other = ['DELETE', 'PUT', 'PATCH'].find((each) => !taken.includes(each)) ?? 'TRACE'
      const wrong = await ask(`${other} ${real} HTTP/1.1\r\n${HOST}content-length: 0\r\n\r\n`)
      expect(wrong?.status, `${other} ${real}`).toBe(405)
      expect(wrong?.headers['allow']?.[0]).toContain(method)
      if (method === 'GET') {
        const [head, body] = [await ask(get(real).replace('GET', 'HEAD'), { bodyless: true }), await ask(get(real))]
        expect([head?.status, head?.body], real).toEqual([hasEffects ? 405 : body?.status, ''])
      }
      expect((await ask(`TRACE ${real} HTTP/1.1\r\n${HOST}\r\n`))?.status, `TRACE ${real}`).toBe(405)
      for (const odd of ['CONNECT', 'FOO', 'get'])
        expect([undefined, 400, 405, 501], `${odd} ${real}`).toContain(
          (await ask(`${odd} ${real} HTTP/1.1\r\n${HOST}content-length: 0\r\n\r\n`, { ms: 300 }))?.status,
        )
    }
    await isAlive()
  }, 60_000)

  test('O11 Range, Accept-Encoding and conditional headers on documents are ignored or answered correctly', async () => {
    const plain = await ask(get(METADATA))
    for (const header of [
      'range: bytes=0-5',
      'accept-encoding: gzip, br;q=1.0, *;q=0',
      'if-none-match: *',
      'if-range: x',
      'if-match: x',
      'accept: image/png',
    ]) {
      const answer = await ask(get(METADATA, `${header}\r\n`))
      expect([answer?.status, answer?.body], header).toEqual([200, plain?.body])
    }
    const keys = await ask(get('/.well-known/jwks.json'))
    const etag = keys?.headers['etag']?.[0]
    expect(etag).toBeTruthy()
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`]) {
      const answer = await ask(get('/.well-known/jwks.json', `if-none-match: ${known}\r\n`))
      expect([answer?.status, answer?.body], known).toEqual([304, ''])
    }
    expect((await ask(get('/.well-known/jwks.json', 'if-none-match: "other"\r\n')))?.body).toBe(keys?.body)
    expect((await ask(get('/.well-known/jwks.json', 'range: bytes=0-5\r\n')))?.body).toBe(keys?.body)
  })

  test('O12 a path has one spelling', async () => {
    const paths = [
      '//oauth/token',
      '/oauth/token/',
      '/oauth/./token',
      '/oauth/../oauth/token',
      '/oauth%2ftoken',
      '/oauth/token;x',
      '/oauth/toke%6e',
      '/OAUTH/token',
      '/oauth//token',
      '/oauth\\token',
      '/oauth/token%00',
      '/oauth/token%3f',
    ]
    for (const path of paths) {
      const answer = await ask(`POST ${path} HTTP/1.1\r\n${HOST}${FORM}content-length: 21\r\n\r\ngrant_type=password&a`)
      expect([undefined, 400, 404], path).toContain(answer?.status)
      expect(answer?.body ?? '', path).not.toContain('unsupported_grant_type')
    }
    for (const path of ['/oauth/token#x', '/oauth/token#']) {
      const answer = await ask(`POST ${path} HTTP/1.1\r\n${HOST}${FORM}content-length: 0\r\n\r\n`)
      expect([undefined, 400, 404, 405], path).toContain(answer?.status)
    }
  })

  test('O13 unusual JSON is refused or parsed correctly, without a delay', async () => {
    const valid = (member: string) => `{"client_name":"Odd","redirect_uris":["https://a.example/cb"],${member}}`
    const bodies: [string, (status: number) => boolean][] = [
      [`${'['.repeat(100_000)}${']'.repeat(100_000)}`, (status) => status === 400],
      ['['.repeat(1_000_000), (status) => status === 400],
      [valid(`"x":${'['.repeat(100_000)}${']'.repeat(100_000)}`), (status) => status < 500],
      [valid(Array.from({ length: 50_000 }, (_, i) => `"k${i}":1`).join()), (status) => status === 201],
      [valid('"x":1e999'), (status) => status === 201],
      [valid(`"x":${'9'.repeat(100_000)}`), (status) => status === 201],
      [valid('"x":"\\ud800"'), (status) => status === 201],
      [valid('"client_name":"\\ud800"'), (status) => status === 400],
      [valid('"client_name":"Twice"'), (status) => status === 201],
      [`\ufeff${valid('"x":1')}`, (status) => status === 400],
      ['NaN', (status) => status === 400],
      [`${valid('"x":1')} garbage`, (status) => status === 400],
    ]
    for (const [body, isRight] of bodies) {
      const { status } = await register(service, body)
      expect(isRight(status), `${status} for ${body.slice(0, 60)}`).toBe(true)
    }
    await isAlive()
  })

  test('O15 more logins than the threads can hash are refused with 503 and Retry-After, while documents are answered at once', async () => {
    const { email } = await addUser(service)
    const browser = new Browser()
    const fields = {
      ...Object.fromEntries(fieldsOf(await browser.open(`${service.issuer}/login`))),
      email,
      password: 'wrong',
    }
    let left = 150
    const login = async () => {
      const answer = await browser.post(`${service.issuer}/login`, fields)
      left--
      return answer
    }
    const logins = Promise.all(Array.from({ length: left }, login))
    await pause(30)
    for (const path of ['/health', METADATA, '/.well-known/jwks.json']) {
      expect((await ask(get(path)))?.status).toBe(200)
      expect(left, `logins under way when ${path} came`).toBeGreaterThan(0)
    }
    const answers = await logins
    const refused = answers.filter(({ status }) => status === 503)
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([422, 503]))
    expect(refused.length).toBeGreaterThan(0)
    expect(refused[0]?.headers.get('retry-after')).toBe('1')
    expect((await browser.post(`${service.issuer}/login`, { ...fields, password: PASSWORD })).status).toBe(303)
  })
})

test('O16 of a million addresses the last hundred thousand are remembered, so that memory is bounded', () => {
  const buckets = new Buckets({ rate: 0.001, burst: 1 })
  const seen = (address: string) => buckets.take(address) > 0
  expect([seen('first'), seen('first')]).toEqual([false, true])
  for (let i = 0; i < 100_000; i++) seen(`${i >> 16}.${(i >> 8) & 255}.${i & 255}.1`)
  expect(seen('1.134.159.1')).toBe(true)
  expect(seen('first')).toBe(false)
})

// 100 000 characters against the patterns: test/oauth/redirect_pattern.test.ts.
// Quadratic time would take minutes of CPU. Wall time is not measured, because other processes use the machine.
const MUCH_CPU_MICROS = 2_000_000
test('O17 patterns, return paths and scopes are processed in linear time', async () => {
  const service = await startService()
  try {
    const text = 'a'.repeat(100_000)
    const works: [string, () => unknown][] = [
      ['pattern', () => matchesPattern(`https://good.example/${'*a'.repeat(5000)}b`, `https://good.example/${text}`)],
      ['redirect', () => safeRedirect(service.app, `/\\${text}`)],
      ['redirect with slashes', () => safeRedirect(service.app, `/a${'/'.repeat(100_000)} `)],
      ['scope', () => parseScope(`${'a '.repeat(4000)}"`)],
    ]
    for (const [what, work] of works) {
      const before = process.cpuUsage()
      try {
        work()
      } catch {}
      expect(process.cpuUsage(before).user, what).toBeLessThan(MUCH_CPU_MICROS)
    }
  } finally {
    await service.close()
  }
})
