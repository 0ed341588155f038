// Rules for both engines, tested over the wire. The native parser closes the connection, or does not answer, where node:http
// answers 400: a request counts as refused when no handler received it and no success was answered.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { pause, type Wire } from '../support/wire.ts'
import { CORPUS } from './engine_corpus.ts'
import { type Bench, BODY_LIMIT, get, type OpenEngine, openBench, post, postText } from './engine_routes.ts'

/** Declares the rules for requests and answers. */
export function engineRules(open: OpenEngine): void {
  let bench: Bench
  beforeAll(async () => {
    bench = await openBench(open)
  })
  afterAll(() => bench.front.close(1000))
  afterEach(async () => {
    bench.handled.length = 0
    expect((await bench.ask(get('/hello'))).body, 'the listener goes on').toBe('hello')
    bench.handled.length = 0
  })

  describe('connections', () => {
    test('several requests on one connection are served', async () => {
      const wire = await bench.wire()
      for (let i = 0; i < 3; i++) expect((await wire.send(get('/hello')).answer()).body).toBe('hello')
      expect((await wire.send(postText('/echo', 'abc')).answer()).body).toBe('abc')
      expect((await wire.send(get('/hello')).answer()).body).toBe('hello')
      wire.leave()
    })

    test('pipelined GETs are answered in order', async () => {
      const wire = (await bench.wire()).send(get('/hello') + get('/head?n=2') + get('/nothing') + get('/hello'))
      expect((await wire.answer()).body).toBe('hello')
      expect(JSON.parse((await wire.answer()).body).query).toBe('n=2')
      expect((await wire.answer()).status).toBe(404)
      expect((await wire.answer()).body).toBe('hello')
      wire.leave()
    })

    test('the peer has its plain address', async () => {
      for (const host of ['127.0.0.1', '::1']) {
        const wire = (await bench.wire(host)).send(get('/head'))
        expect(JSON.parse((await wire.answer()).body).remote).toBe(host)
        wire.leave()
      }
    })
  })

  describe('requests', () => {
    test('path and query are passed unchanged, and header names in lower case', async () => {
      const seen = JSON.parse((await bench.ask(get('/head?a=%20b&c=+', 'X-One: 1\r\nx-two: a\r\nX-Two: b\r\n'))).body)
      expect(seen).toMatchObject({ path: '/head', query: 'a=%20b&c=+' })
      expect(seen.headers).toMatchObject({ host: 'auth.example.com', 'x-one': '1', 'x-two': 'a, b' })
    })

    test.each(CORPUS)('both engines read the same: %s', async (_what, text, seen) => {
      const answer = await bench.ask(text)
      expect(answer.status).toBe(200)
      if (typeof seen === 'string') expect(answer.body).toBe(seen)
      else expect(JSON.parse(Buffer.from(answer.body, 'latin1').toString())).toMatchObject(seen)
    })

    test('a body is read by length, by chunks, and in any number of pieces', async () => {
      expect((await bench.ask(postText('/echo', 'abc'))).body).toBe('abc')
      const chunked = post('/echo', 'transfer-encoding: chunked\r\n', '3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n')
      expect((await bench.ask(chunked)).body).toBe('abcde')
      const wire = await bench.wire()
      for (const piece of [postText('/echo', 'abcdef').slice(0, -4), 'cd', 'ef']) {
        wire.send(piece)
        await pause(20)
      }
      expect((await wire.answer()).body).toBe('abcdef')
      wire.leave()
    })

    test('a body is passed byte for byte', async () => {
      const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i))
      const request = Buffer.concat([Buffer.from(post('/echo', 'content-length: 256\r\n')), bytes])
      expect(Buffer.from((await bench.ask(request)).body, 'latin1').equals(bytes)).toBe(true)
    })

    test('a body of the maximum size is accepted', async () => {
      expect((await bench.ask(postText('/echo', 'x'.repeat(BODY_LIMIT)))).body.length).toBe(BODY_LIMIT)
    })

    test.each([
      ['that says so', post('/echo', `content-length: ${BODY_LIMIT + 1}\r\n`)],
      ['that says so and comes', postText('/echo', 'x'.repeat(60_000))],
      ['that comes in chunks', post('/echo', 'transfer-encoding: chunked\r\n', `7d0\r\n${'x'.repeat(2000)}\r\n`)],
    ])('refuses a body over the limit %s with 413, and closes', async (_which, text) => {
      const wire = (await bench.wire()).send(text)
      const answer = await wire.answer()
      expect(answer.status).toBe(413)
      expect(answer.headers.connection).toEqual(['close'])
      expect(JSON.parse(answer.body)).toMatchObject({ error: 'content_too_large', request_id: expect.any(String) })
      await wire.closed()
      expect(bench.handled).toEqual([])
    })
  })

  describe('a refusal before the body is read', () => {
    const early = async (wire: Wire) => {
      const answer = await wire.answer()
      expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': ['1'] } })
      expect(answer.headers.connection?.[0]).not.toBe('close')
      expect((await wire.send(postText('/echo', 'served')).answer()).body).toBe('served')
      expect(bench.handled).toEqual(['POST /echo'])
      wire.leave()
    }

    test('a body that arrives with the head is skipped', async () => {
      await early((await bench.wire()).send(postText('/full', get('/hello'))))
    })

    test('a body that arrives later in pieces is skipped', async () => {
      const text = get('/hello')
      const wire = (await bench.wire()).send(post('/full', `content-length: ${text.length * 2}\r\n`))
      await pause(20)
      wire.send(text)
      await pause(20)
      await early(wire.send(text))
    })

    test('the connection is closed when the length of the body to skip is unknown', async () => {
      const wire = (await bench.wire()).send(post('/full', 'transfer-encoding: chunked\r\n', `3\r\nabc\r\n`))
      expect(await wire.answer()).toMatchObject({ status: 503, headers: { connection: ['close'] } })
      await wire.closed()
    })
  })

  describe('answers', () => {
    test('a HEAD has the length of the GET and no body', async () => {
      const wire = await bench.wire()
      const answer = await wire.send(get('/hello').replace('GET', 'HEAD')).answer({ bodyless: true })
      expect(answer).toMatchObject({ status: 200, body: '' })
      expect(answer.headers['content-length']).toEqual(['5'])
      expect((await wire.send(get('/hello')).answer()).body).toBe('hello')
      wire.leave()
    })

    test.each([204, 304])('a %d has neither body nor length', async (status) => {
      const wire = (await bench.wire()).send(get(`/${status}`) + get('/hello'))
      const answer = await wire.answer()
      expect(answer).toMatchObject({ status, body: '' })
      expect(answer.headers['content-length']).toBeUndefined()
      expect((await wire.answer()).body).toBe('hello')
      wire.leave()
    })

    test('repeated headers stay separate lines', async () => {
      expect((await bench.ask(get('/cookies'))).headers['set-cookie']).toEqual(['a=1', 'b=2'])
    })

    test('no header reveals the server software', async () => {
      const { headers } = await bench.ask(get('/hello'))
      expect(JSON.stringify(headers)).not.toMatch(/server|powered|uwebsockets|node/i)
    })

    test.each([
      ['GET', get('/bad')],
      ['GET answered later', get('/bad-later')],
      ['POST', postText('/bad', 'x')],
      ['POST answered later', postText('/bad-later', 'x')],
    ])('a header with a line break becomes a 500, never a second header: %s', async (_how, text) => {
      const wire = (await bench.wire()).send(text)
      const answer = await wire.answer()
      expect(answer.status).toBe(500)
      expect(answer.headers['set-cookie']).toBeUndefined()
      expect(JSON.parse(answer.body).error).toBe('server_error')
      await wire.closed()
    })

    test.each(['/throw', '/reject'])('a handler that fails is a 500: %s', async (path) => {
      expect((await bench.ask(get(path))).status).toBe(500)
    })
  })

  describe('requests that two parsers could interpret differently', () => {
    const behind = get('/hello')
    const refused: [string, string][] = [
      [
        'Content-Length beside Transfer-Encoding',
        post('/echo', 'content-length: 3\r\ntransfer-encoding: chunked\r\n', '0\r\n\r\n'),
      ],
      ['two Content-Lengths', post('/echo', 'content-length: 3\r\ncontent-length: 0\r\n', 'abc')],
      ['two equal Content-Lengths', post('/echo', 'content-length: 0\r\ncontent-length: 0\r\n')],
      ['a list of Content-Lengths', post('/echo', 'content-length: 0, 0\r\n')],
      ['a Content-Length with a sign', post('/echo', 'content-length: +0\r\n')],
      ['another Transfer-Encoding', post('/echo', 'transfer-encoding: identity\r\n')],
      ['no length', post('/echo', '')],
      ['a length hidden behind a header without a name', post('/echo', ': x\r\ncontent-length: 3\r\n', 'abc')],
      ['a GET with a body', get('/head', 'content-length: 3\r\n')],
      ['a HEAD with a body', get('/head', 'content-length: 3\r\n').replace('GET', 'HEAD')],
      ['no Host', 'GET /head HTTP/1.1\r\n\r\n'],
      ['two Hosts', get('/head', 'host: evil.example.com\r\n')],
      ['two Authorizations', get('/head', 'authorization: Bearer a\r\nauthorization: Bearer b\r\n')],
      ['an unknown method', get('/head').replace('GET', 'FOO')],
      ['an upgrade', get('/head', 'connection: upgrade\r\nupgrade: websocket\r\n')],
      ['a NUL in a header', get('/head', 'x: a\0b\r\n')],
      ['a bare CR in a header', get('/head', 'x: a\rb\r\n')],
      ['a folded header', get('/head', 'x: a\r\n b: c\r\n')],
      ['a space before the colon', get('/head', 'x : a\r\n')],
      ['a space in the path', get('/he ad')],
      ['a path with UTF-8', get('/h\xc3\xa4')],
      ['a query with a byte of Latin-1', get('/head?state=\xe4')],
      ['a method in lower case', get('/head').replace('GET', 'get')],
      ['an unknown control character', get('/head', 'x: a\x01b\r\n')],
      ['a header name with brackets', get('/head', 'x(y): z\r\n')],
      ['lines without CR', 'GET /head HTTP/1.1\nhost: auth.example.com\n\n'],
      ['two Transfer-Encodings', post('/echo', 'transfer-encoding: Chunked, chunked\r\n', '0\r\n\r\n')],
    ]
    test.each(refused)('%s is refused, and so is any request behind it', async (_what, text) => {
      const wire = (await bench.wire()).send(text + behind)
      const isClosed = await wire.closesWithin(60)
      expect(wire.text).not.toContain('HTTP/1.1 2')
      expect(bench.handled).toEqual([])
      // The native parser refuses by not answering until a timeout; an answer that arrives must be the last one.
      expect(isClosed || wire.text === '').toBe(true)
      wire.leave()
    })

    test('TRACE is 405, without an echo of the request', async () => {
      const answer = await bench.ask(get('/hello', 'x-secret: 7\r\n').replace('GET', 'TRACE'))
      expect([answer.status, JSON.parse(answer.body).error]).toEqual([405, 'method_not_allowed'])
      expect(answer.body).not.toContain('x-secret')
    })

    test('a POST without a length has an empty body where none is required, and its connection is closed', async () => {
      const wire = (await bench.wire()).send(post('/stop', ''))
      const answer = await wire.answer()
      expect([answer.status, answer.body]).toEqual([200, '{"bytes":0}'])
      await wire.closed()
    })

    test('a POST without a length is 411 where a body is required', async () => {
      const answer = await bench.ask(post('/echo', ''))
      expect([answer.status, JSON.parse(answer.body).error]).toEqual([411, 'length_required'])
    })

    test.each([
      ['a POST without a length', post('/stop', '')],
      ['a POST whose length is hidden from the parser', post('/stop', ': x\r\ncontent-length: 3\r\n', 'abc')],
    ])('nothing behind %s is served', async (_what, text) => {
      const wire = (await bench.wire()).send(text + behind)
      await wire.closesWithin(60)
      expect(bench.handled).not.toContain('GET /hello')
      expect(wire.text).not.toContain('hello')
      wire.leave()
    })

    test('a request with a framing error is refused with its reason, and the connection is closed', async () => {
      const wire = (await bench.wire()).send(get('/head', 'authorization: a\r\nauthorization: b\r\n'))
      const answer = await wire.answer()
      expect(answer.status).toBe(400)
      expect(JSON.parse(answer.body).error_description).toBe('the authorization header is repeated')
      await wire.closed()
    })

    test('a head of more than 16 KiB is answered with 431, and the connection is closed', async () => {
      const wire = (await bench.wire()).send(get('/head', `x: ${'y'.repeat(40_000)}\r\n`))
      expect((await wire.answer()).status).toBe(431)
      expect(bench.handled).toEqual([])
      await wire.closed()
    })
  })

  describe('clients that disconnect', () => {
    const goodbyes: [string, (wire: Wire) => void][] = [
      ['closes', (wire) => wire.leave()],
      ['resets', (wire) => wire.reset()],
    ]
    test.each(goodbyes)('a client that %s within its body reaches no handler', async (_how, leave) => {
      const wire = (await bench.wire()).send(post('/echo', 'content-length: 100\r\n', 'abc'))
      await pause(30)
      leave(wire)
      await pause(30)
      expect(bench.handled).toEqual([])
    })

    test.each(goodbyes)('a client that %s before its answer does not affect other requests', async (_how, leave) => {
      const wire = (await bench.wire()).send(get('/later'))
      await pause(30)
      leave(wire)
      await pause(250)
      expect(bench.handled).toEqual(['GET /later'])
    })
  })
}
