// Route tables: matching, refusals before a handler runs, and common parts of every answer.
import { assert, describe, expect, test, vi } from 'vitest'
import { Admission } from '../../src/http/admission.ts'
import { json, type Reply, type RequestHead } from '../../src/http/message.ts'
import { TokenBucket } from '../../src/http/rate_limit.ts'
import type { Route } from '../../src/http/route.ts'
import { OAuthError, overloaded } from '../../src/lib/error.ts'
import { isId } from '../../src/lib/id.ts'
import { head } from '../support/head.ts'
import { router, routes } from './router_bench.ts'

const { send } = router()
const parsed = (reply: Reply) => JSON.parse(reply.body as string)
/** The fields of a log line. */
const WARN = 40
const JSON_TYPE = { 'content-type': 'application/json' }

describe('finding a route', () => {
  test.each([
    ['/things', 'list'],
    ['/things/mine', 'mine'],
    ['/things/7', { id: '7' }],
    ['/things/a%2Fb%20c', { id: 'a/b c' }],
    ['/things/https%3A%2F%2Fx', { id: 'https://x' }],
    ['/docs/a', { ref: 'a' }],
    ['/docs/a/b/c', { ref: 'a/b/c' }],
    ['/docs/a%2Fb/', { ref: 'a/b/' }],
  ])('GET %s', async (path, expected) => {
    const reply = await send('GET', path)
    expect([reply.status, parsed(reply)]).toEqual([200, expected])
  })

  test('several parameters are matched by name', async () => {
    expect(parsed(await send('DELETE', '/things/7/parts/9'))).toEqual({ id: '7', part: '9' })
  })

  test.each([
    '/',
    '/thing',
    '/things/',
    '//things',
    '/things/7/',
    '/things/7/parts',
    '/THINGS',
    '/docs',
    '/docs/',
    '/things/%',
    '/things/%ff',
    '/things/%00',
    '/constructor',
    '/__proto__',
  ])('there is nothing at %s', async (path) => {
    const reply = await send('GET', path)
    expect([reply.status, parsed(reply).error]).toEqual([404, 'not_found'])
  })

  test('HEAD is answered by the GET route', async () => {
    expect((await send('HEAD', '/things')).status).toBe(200)
  })

  test.each([
    ['POST', '/things/7', 'GET, HEAD'],
    ['PUT', '/things', 'GET, HEAD, POST'],
    ['GET', '/things/7/parts/9', 'DELETE'],
    ['OPTIONS', '/things/7', 'GET, HEAD'],
    ['TRACE', '/things', 'GET, HEAD, POST'],
  ])('%s %s is 405 and says what the path takes', async (method, path, allow) => {
    const reply = await send(
      method,
      path,
      method === 'GET' || method === 'OPTIONS' || method === 'TRACE' ? undefined : '',
    )
    expect([reply.status, parsed(reply).error, reply.headers.allow]).toEqual([405, 'method_not_allowed', allow])
  })

  test('two routes with the same method and path throw', () => {
    expect(() => router({ routes: [...routes, routes[0] as Route] })).toThrow('two routes for GET /things')
  })
})

describe('bodies', () => {
  test.each([
    ['/things', '{}', 'application/json', 201],
    ['/things', '{}', 'Application/JSON; charset="UTF-8"', 201],
    ['/things', '', undefined, 201],
    ['/things', '{}', undefined, 415],
    ['/things', '{}', 'text/plain', 415],
    ['/things', '{}', 'application/json; charset=utf-16', 201],
    ['/things', '{}', 'application/json; charset', 201],
    ['/things', '{}', 'application/jsonp', 415],
    ['/form', 'a=b', 'application/x-www-form-urlencoded', 200],
    ['/form', 'a=b', 'application/x-www-form-urlencoded;charset=UTF-8', 200],
    ['/form', 'a=%C3%A4', 'application/x-www-form-urlencoded; charset=ISO-8859-1', 200],
    ['/form', 'a=b', 'application/json', 415],
    ['/form', 'a=b', 'multipart/form-data; boundary=x', 415],
    ['/form', '', undefined, 415],
  ])('POST %s with %j as %s is %d', async (path, body, type, status) => {
    expect((await send('POST', path, body, { 'content-type': type })).status).toBe(status)
  })

  test('an encoded body is refused', async () => {
    expect((await send('POST', '/things', '{}', { ...JSON_TYPE, 'content-encoding': 'gzip' })).status).toBe(415)
    expect((await send('POST', '/things', '{}', { ...JSON_TYPE, 'content-encoding': 'Identity' })).status).toBe(201)
  })

  test('a body over the limit of its route is refused before it is read, and the connection is closed', async () => {
    const { accept } = router()
    const reply = accept(head({ method: 'POST', path: '/things', headers: { ...JSON_TYPE, 'content-length': '101' } }))
    expect(reply).toMatchObject({ status: 413, close: true })
  })

  test('a body that exceeds the limit while it is read is refused with a request id, and counted', async () => {
    const { accept, metrics } = router()
    const accepted = accept(head({ method: 'POST', path: '/things', headers: { 'transfer-encoding': 'chunked' } }))
    assert('limit' in accepted)
    expect(accepted.limit).toBe(100)
    const reply = accepted.tooLarge()
    expect(reply).toMatchObject({ status: 413, close: true })
    expect(parsed(reply)).toMatchObject({ error: 'content_too_large', request_id: expect.toSatisfy(isId) })
    expect(parsed(reply).error_description).toContain('100 bytes')
    expect((await metrics.render()).text).toMatch(
      /core_http_requests_total\{method="POST",path="\/things",status="413"\} 1/,
    )
  })

  test('a route without a body refuses one', async () => {
    expect((await send('DELETE', '/things/7/parts/9', 'x')).status).toBe(413)
  })

  test.each(['TRACE', 'QUERY', 'FOO', 'get'])(
    'the method %s is refused with the methods of the path',
    async (method) => {
      const answer = await send(method, '/things')
      expect([answer.status, answer.headers['allow']]).toEqual([405, expect.stringContaining('GET')])
      expect((await send(method, '/nothing')).status).toBe(404)
    },
  )

  test('refusing a request with an unread body closes its connection', async () => {
    expect((await send('POST', '/nothing', 'x')).close).toBe(true)
    expect((await send('PUT', '/things', 'x')).close).toBe(true)
    expect((await send('GET', '/nothing')).close).toBe(false)
    expect((await send('FOO', '/things')).close).toBe(true)
    expect((await send('TRACE', '/things')).close).toBe(true)
  })
})

describe('the limiter', () => {
  test('the rate limit refuses with 429 and Retry-After, and admits probes', async () => {
    const limited = router({ limiter: new TokenBucket({ rate: 0.1, burst: 1 }) })
    expect((await limited.send('GET', '/things')).status).toBe(200)
    const reply = await limited.send('GET', '/things')
    expect([reply.status, parsed(reply).error, reply.headers['retry-after']]).toEqual([429, 'slow_down', '10'])
    expect((await limited.send('GET', '/probe')).status).toBe(200)
  })

  test.each([
    ['keeps', 'of a length that can be skipped', { 'content-length': '5' }, false],
    ['closes', 'that is too large', { 'content-length': '11' }, true],
    ['closes', 'of unknown length', { 'transfer-encoding': 'chunked' }, true],
    ['closes', 'that waits for a sign to come', { 'content-length': '5', expect: '100-continue' }, true],
  ])('%s the connection of a body %s', async (_does, _what, headers, close) => {
    const body = { type: 'any', limit: 10 } as const
    const { accept } = router({
      routes: [{ method: 'POST', path: '/in', body, handle: () => json(200, 'in') }],
      limiter: { take: () => 1, giveBack: () => {} },
    })
    expect(await accept(head({ method: 'POST', path: '/in', headers }))).toMatchObject({ status: 429, close })
  })

  test('requests without a route are not counted by the rate limit', async () => {
    const limited = router({ limiter: new TokenBucket({ rate: 0.1, burst: 1 }) })
    for (let i = 0; i < 5; i++) await limited.send('GET', '/nothing')
    expect((await limited.send('GET', '/things')).status).toBe(200)
  })
})

describe('refusals by admission control', () => {
  const full: Route = {
    method: 'POST',
    path: '/full',
    body: { type: 'any', limit: 10 },
    handle: () => Promise.reject(overloaded('test')),
  }
  const here = router({ routes: [...routes, full], limiter: { take: () => 0, giveBack: () => {} } })

  test('an overload refusal has Retry-After and keeps the connection; the log has one line in ten seconds', async () => {
    const replies = await Promise.all(Array.from({ length: 20 }, () => here.send('POST', '/full', 'a')))
    for (const { status, headers, close = false } of replies)
      expect([status, headers['retry-after'], close]).toEqual([503, '1', false])
    const told = here.lines.filter(({ reason }) => reason === 'test_full')
    expect(told.filter(({ level }) => level === WARN)).toHaveLength(1)
    expect(told.filter(({ level }) => Number(level) > WARN)).toEqual([])
  })
})

describe('browsers of other origins', () => {
  const origin = 'https://app.example.com'
  const open = router({ allowedOrigins: [origin] })
  const headersOf = async (given: string | undefined, path = '/things', on = open) =>
    (await on.send('GET', path, undefined, { origin: given })).headers

  test('an allowed origin can read the answer, also an error', async () => {
    expect(await headersOf(origin)).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-expose-headers': 'DPoP-Nonce, WWW-Authenticate, Retry-After',
      vary: 'Origin',
    })
    const refused = await open.send('PUT', '/things', '', { origin })
    expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([405, origin])
  })

  test.each([
    'https://evil.example.com',
    'https://app.example.com.evil.example',
    'null',
    'HTTPS://APP.EXAMPLE.COM',
    undefined,
  ])('the origin %s may not read the answer, and Vary names the origin for caches', async (given) => {
    const headers = await headersOf(given)
    expect(headers['access-control-allow-origin']).toBeUndefined()
    expect(headers.vary).toBe('Origin')
  })

  test('a route without CORS can be read by no origin', async () => {
    expect((await headersOf(origin, '/things/7'))['access-control-allow-origin']).toBeUndefined()
  })

  test('credentials are never allowed', async () => {
    expect(await headersOf(origin)).not.toHaveProperty('access-control-allow-credentials')
  })

  test('without allowed origins there are no CORS headers', async () => {
    expect(Object.keys(await headersOf(origin, '/things', router())).join()).not.toMatch(/access-control|vary/)
  })

  test('* allows every origin', async () => {
    const headers = await headersOf('https://any.example', '/things', router({ allowedOrigins: ['*'] }))
    expect(headers['access-control-allow-origin']).toBe('*')
  })

  test('the answer to a preflight lists the allowed methods and headers', async () => {
    const preflight = { origin, 'access-control-request-method': 'POST' }
    const reply = await open.send('OPTIONS', '/things', undefined, preflight)
    expect(reply.status).toBe(204)
    expect(reply.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'GET, POST, OPTIONS',
      'access-control-allow-headers': 'Content-Type, Authorization, DPoP, MCP-Protocol-Version',
    })
    const refused = await open.send('OPTIONS', '/things', undefined, { origin: 'https://evil.example.com' })
    expect(Object.keys(refused.headers).join()).not.toContain('access-control')
  })

  test.each([
    ['traceparent,x-datadog-trace-id , baggage', 'traceparent, x-datadog-trace-id, baggage'],
    ['', ''],
    ['a b, c:d, é, *, "x", ok', '*, ok'],
  ])('a page may send the headers that it names: %j', async (named, allowed) => {
    const ask = (from: string) =>
      open.send('OPTIONS', '/things', undefined, { origin: from, 'access-control-request-headers': named })
    const { headers } = await ask(origin)
    const always = 'Content-Type, Authorization, DPoP, MCP-Protocol-Version'
    expect(headers['access-control-allow-headers']).toBe([always, allowed].filter(Boolean).join(', '))
    expect(Object.keys((await ask('https://evil.example.com')).headers).join()).not.toContain('access-control')
  })
})

describe('every answer', () => {
  test('an answer has the headers of the listener, unless the handler sets them', async () => {
    const { send: ask } = router({ headers: { 'x-content-type-options': 'nosniff', 'content-type': 'text/plain' } })
    expect((await ask('GET', '/things')).headers).toEqual({
      'content-type': 'application/json',
      'x-content-type-options': 'nosniff',
    })
    expect((await ask('GET', '/nothing')).headers['x-content-type-options']).toBe('nosniff')
  })

  test('an answer is counted and timed by its route, never by its path', async () => {
    const { send: ask, metrics } = router()
    await ask('GET', '/things/secret-1')
    await ask('GET', '/things/secret-2')
    await ask('GET', '/secret-3')
    await ask('SECRET4', '/things')
    const { text } = await metrics.render()
    expect(text).toContain('core_http_requests_total{method="GET",path="/things/{id}",status="200"} 2')
    expect(text).toContain('core_http_requests_total{method="GET",path="unmatched",status="404"} 1')
    expect(text).toContain('core_http_request_duration_seconds_count{method="GET",path="/things/{id}",status="200"} 2')
    expect(text).not.toMatch(/secret/i)
  })

  test('an answer is logged by its route, never with its query or headers', async () => {
    const { accept, lines } = router()
    const accepted = await accept(
      head({ path: '/things/7', query: 'code=secret', headers: { authorization: 'secret' } }),
    )
    if (!('status' in accepted)) await accepted.answer(Buffer.alloc(0))
    expect(lines[0]).toMatchObject({ method: 'GET', path: '/things/{id}', status: 200, remote: '192.0.2.1' })
    expect(isId(lines[0]?.request_id as string)).toBe(true)
    expect(JSON.stringify(lines)).not.toContain('secret')
  })

  test('an error has the id of its log line, and the cause of a 500 is only in the log', async () => {
    const { send: ask, lines } = router()
    const reply = await ask('GET', '/throw')
    expect([reply.status, parsed(reply).error]).toEqual([500, 'server_error'])
    expect(reply.body).not.toContain('disk full')
    expect(lines[0]).toMatchObject({ level: 50, request_id: parsed(reply).request_id, error: 'server_error' })
    expect(JSON.stringify(lines[0]?.err)).toContain('disk full')
  })

  test('an error of a page is rendered by the page', async () => {
    expect(await send('GET', '/page')).toMatchObject({ status: 400, body: '<p>no</p>' })
  })
})

describe('a route without capacity', () => {
  const metrics = () => full.metrics.render().then(({ text }) => text)
  let read = 0
  const handle = () => json(200, ++read)
  const body = { type: 'any', limit: 10 } as const
  const full = router({
    routes: [{ method: 'POST', path: '/full', body, handle, admission: new Admission(() => overloaded('test')) }],
  })

  test('the route refuses by the head, the refusal is counted by reason, and a body of known length is skipped', async () => {
    const reply = await full.accept(head({ method: 'POST', path: '/full', headers: { 'content-length': '5' } }))
    expect(reply).toMatchObject({ status: 503, headers: { 'retry-after': '1' }, close: false })
    expect(read).toBe(0)
    expect(await metrics()).toContain('reason="test_full"} 1')
    expect(await metrics()).toContain('core_http_requests_total{method="POST",path="/full",status="503"} 1')
  })

  test.each([
    ['a body whose length nobody knows', { 'transfer-encoding': 'chunked' }],
    ['a body that waits for a sign to come', { 'content-length': '5', expect: '100-continue' }],
  ])('closes the connection before %s', async (_what, headers) => {
    const reply = await full.accept(head({ method: 'POST', path: '/full', headers }))
    expect(reply).toMatchObject({ status: 503, close: true })
  })

  test('a body that is too large is refused with 413 and not with 503, because a retry would not help', async () => {
    expect((await full.send('POST', '/full', 'x'.repeat(11))).status).toBe(413)
  })

  test('a request is in progress until it is answered, however it ends', async () => {
    const admission = new Admission(() => undefined)
    const [begin, end] = [vi.spyOn(admission, 'begin'), vi.spyOn(admission, 'end')]
    const fail = () => {
      throw new Error('broken')
    }
    const handles: [string, Route['handle']][] = [
      ['/well', handle],
      ['/later', async () => handle()],
      ['/thrown', fail],
      ['/rejected', async () => fail()],
    ]
    const { send } = router({
      routes: handles.map(([path, handle]) => ({ method: 'POST', path, body, handle, admission })),
    })
    const statuses: number[] = []
    for (const [path] of handles) statuses.push((await send('POST', path, 'x')).status)
    expect(statuses).toEqual([200, 200, 500, 500])
    expect([begin.mock.calls.length, end.mock.calls.length]).toEqual([4, 4])
  })
})

describe('a guarded route', () => {
  let read = 0
  const guard = ({ headers }: RequestHead): undefined => {
    if (!headers.authorization) throw new OAuthError('unauthorized', 'no key')
  }
  const handle = () => {
    read++
    return json(200, 'in')
  }
  const guarded = router({
    routes: [
      { method: 'POST', path: '/in/{id}', guard, handle, body: { type: 'json', limit: 10 } },
      { method: 'GET', path: '/in/{rest...}', guard, handle: () => json(200, 'rest') },
      { method: 'GET', path: '/in/{id}/parts/{part}', guard, handle: () => json(200, 'part') },
    ],
  })

  test.each([
    ['a request', 'POST', '{}', JSON_TYPE],
    ['a body that is too large', 'POST', '{"x":"0123456789"}', JSON_TYPE],
    ['a body of another type', 'POST', 'x', {}],
    ['a wrong method', 'PUT', '{}', JSON_TYPE],
    ['OPTIONS', 'OPTIONS', undefined, {}],
  ])('refuses %s before anything else is looked at', async (_what, method, body, headers) => {
    expect((await guarded.send(method, '/in/7', body, headers)).status).toBe(401)
    expect(read).toBe(0)
  })

  test('requests that the guard accepts are handled', async () => {
    expect((await guarded.send('POST', '/in/7', '{}', { ...JSON_TYPE, authorization: 'key' })).status).toBe(200)
    expect(read).toBe(1)
  })

  test('a path with a rest parameter is matched after every other path', async () => {
    const at = async (path: string) => parsed(await guarded.send('GET', path, undefined, { authorization: 'key' }))
    expect([await at('/in/7/parts/8'), await at('/in/7/parts'), await at('/in/7/parts/8/9')]).toEqual([
      'part',
      'rest',
      'rest',
    ])
  })
})
