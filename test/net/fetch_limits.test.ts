// How much a fetch may cost: bytes, time, and fetches at once.
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { expect, test, vi } from 'vitest'
import { refusalOf } from '../support/thrown.ts'
import { FRAMING, faultOf, fetchFrom, flood, localFetcher, servePeer, serveRaw } from './peers.ts'

const MAX = 10_000

test.each([
  ['announced', true],
  ['not announced', false],
])('a body of exactly the limit is read, and one byte more gives too_large (%s)', async (_, announced) => {
  const peer = await servePeer((request, response) => {
    const body = Buffer.alloc(request.url === '/more' ? MAX + 1 : MAX, 'x')
    if (announced) response.setHeader('content-length', body.length)
    response.write(body)
    response.end()
  })
  expect((await fetchFrom(localFetcher(), peer.url)).body.length).toBe(MAX)
  expect((await faultOf(fetchFrom(localFetcher(), `${peer.url}/more`))).reason).toBe('too_large')
})

test('a body with a Content-Length of 100 MB is refused before it is received', async () => {
  const peer = await serveRaw('HTTP/1.1 200 OK\r\ncontent-length: 100000000\r\n\r\n', () => {})
  expect((await faultOf(fetchFrom(localFetcher(), peer.url))).reason).toBe('too_large')
  await vi.waitFor(() => expect(peer.open.size).toBe(0))
})

test('an endless body is cut off at the limit', async () => {
  let sent = 0
  const peer = await servePeer((_, response) => {
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(1000))) sent += 1000
    }
    response.on('drain', more)
    more()
  })
  expect((await faultOf(fetchFrom(localFetcher(), peer.url))).reason).toBe('too_large')
  await vi.waitFor(() => expect(peer.open.size).toBe(0))
  expect(sent).toBeLessThan(50_000_000)
})

test.each(Object.entries(FRAMING))('endless %s give too_large long before the deadline', async (_, framing) => {
  let count = { sent: 0 }
  const peer = await serveRaw('', (socket) => {
    count = flood(socket, framing)
  })
  expect((await faultOf(fetchFrom(localFetcher(), peer.url))).reason).toBe('too_large')
  await vi.waitFor(() => expect(peer.open.size).toBe(0))
  expect(count.sent).toBeLessThan(16_000_000)
})

test('a body of exactly the limit is also read in chunks of one byte and after interim responses', async () => {
  const interim = 'HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n'.repeat(20)
  const head = `${interim}HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n`
  const peer = await serveRaw(`${head}${'1\r\nx\r\n'.repeat(MAX)}0\r\n\r\n`)
  expect((await fetchFrom(localFetcher(), peer.url)).body.length).toBe(MAX)
})

test('headers of more than 16 KB give too_large', async () => {
  const peer = await servePeer((_, response) => response.setHeader('x', 'x'.repeat(20_000)).end())
  expect((await faultOf(fetchFrom(localFetcher(), peer.url))).reason).toBe('too_large')
})

const CODINGS = { gzip: gzipSync, 'x-gzip': gzipSync, deflate: deflateSync, br: brotliCompressSync }

test.each(Object.entries(CODINGS))(
  'a body with the content coding %s is decoded, up to the limit',
  async (coding, compress) => {
    const peer = await servePeer((request, response) => {
      response.setHeader('content-encoding', coding).end(compress(Buffer.alloc(Number(request.url?.slice(1)), 'x')))
    })
    const { body } = await fetchFrom(localFetcher(), `${peer.url}/${MAX}`)
    expect(body.equals(Buffer.alloc(MAX, 'x'))).toBe(true)
    expect((await faultOf(fetchFrom(localFetcher(), `${peer.url}/${MAX + 1}`))).reason).toBe('too_large')
  },
)

test.each(Object.entries(CODINGS))(
  'V07 a decompression bomb with the coding %s gives too_large, and needs no more memory than its limit',
  async (coding, compress) => {
    const bomb = compress(Buffer.alloc(30_000_000))
    const peer = await servePeer((_, response) => response.setHeader('content-encoding', coding).end(bomb))
    const before = process.memoryUsage().arrayBuffers
    const fault = await faultOf(fetchFrom(localFetcher(), peer.url, { maxBytes: bomb.length }))
    expect(fault.reason).toBe('too_large')
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(5_000_000)
  },
)

test.each([
  ['nested codings', 'gzip, gzip', gzipSync(gzipSync('x'))],
  ['an unknown coding', 'zstd', Buffer.from('x')],
  ['the name of an object member', 'constructor', Buffer.from('x')],
  ['no gzip', 'gzip', Buffer.from('plain')],
  ['half a gzip', 'gzip', gzipSync('x'.repeat(1000)).subarray(0, 20)],
])('a body with %s gives bad_response', async (_, coding, body) => {
  const peer = await servePeer((_request, response) => response.setHeader('content-encoding', coding).end(body))
  expect((await faultOf(fetchFrom(localFetcher(), peer.url))).reason).toBe('bad_response')
})

const drip =
  (bytes: string) => (socket: { write(text: string): void; once(event: 'close', done: () => void): void }) => {
    const timer = setInterval(() => socket.write(bytes), 20)
    socket.once('close', () => clearInterval(timer))
  }
test.each([
  ['no answer at all', '', () => {}],
  ['headers that drip', 'HTTP/1.1 200 OK\r\n', drip('x-a: b\r\n')],
  ['interim answers without end', '', drip('HTTP/1.1 103 Early Hints\r\n\r\n')],
  ['headers, and then nothing', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n', () => {}],
  ['a body that drips', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n', drip('1\r\nx\r\n')],
])('V06 a response with %s times out at the deadline, although bytes still arrive', async (_, lines, after) => {
  const peer = await serveRaw(lines, after)
  const started = performance.now()
  expect((await faultOf(fetchFrom(localFetcher(), peer.url, { timeoutMs: 200 }))).reason).toBe('timeout')
  expect(performance.now() - started).toBeGreaterThan(190)
  await vi.waitFor(() => expect(peer.open.size).toBe(0))
})

test('the deadline includes the name resolution and the wait for a free slot', async () => {
  const peer = await servePeer(() => {})
  const slow = localFetcher({ resolve: () => new Promise(() => {}) })
  expect((await faultOf(fetchFrom(slow, 'https://slow.test/', { timeoutMs: 50 }))).reason).toBe('timeout')
  const resolve = vi.fn(async () => ['127.0.0.1'])
  const narrow = localFetcher({ maxPerHost: 1, resolve })
  const url = `http://narrow.test:${peer.port}`
  const first = faultOf(fetchFrom(narrow, `${url}/first`, { timeoutMs: 300 }))
  expect((await faultOf(fetchFrom(narrow, `${url}/second`, { timeoutMs: 50 }))).reason).toBe('timeout')
  expect((await first).reason).toBe('timeout')
  // What was over before its turn came is not even looked up.
  expect(resolve).toHaveBeenCalledTimes(1)
})

/** A peer that says how many it answers at once. */
async function countingPeer() {
  const count = { now: 0, most: 0 }
  const peer = await servePeer((_, response) => {
    count.most = Math.max(count.most, ++count.now)
    setTimeout(() => {
      count.now--
      response.end('x')
    }, 20)
  })
  return { peer, count }
}

test('at most maxPerHost fetches from one host run at once; the others wait', async () => {
  const { peer, count } = await countingPeer()
  const fetcher = localFetcher({ maxPerHost: 3 })
  const start = (from: number) => [0, 1, 2, 3, 4, 5].map((i) => fetchFrom(fetcher, `${peer.url}/${from + i}`))
  const early = start(0)
  await early[0]
  await Promise.all([...early, ...start(6)])
  expect([peer.asked.length, count.most]).toEqual([12, 3])
})

test('at most maxTotal fetches run at once, from all hosts together', async () => {
  const { peer, count } = await countingPeer()
  const fetcher = localFetcher({ maxTotal: 3, resolve: async () => ['127.0.0.1'] })
  const hosts = ['a.test', 'b.test', 'c.test', 'd.test', 'e.test', 'f.test']
  await Promise.all(hosts.map((host) => fetchFrom(fetcher, `http://${host}:${peer.port}/`)))
  expect([peer.asked.length, count.most]).toEqual([6, 3])
})

test('a host that hangs does not block fetches from other hosts, and fetches that wait for it get 503', async () => {
  const [hanging, peer] = [await servePeer(() => {}), await servePeer((_, response) => response.end('x'))]
  const fetcher = localFetcher({ maxPerHost: 1, maxTotal: 2, resolve: async () => ['127.0.0.1'] })
  const hung = faultOf(fetchFrom(fetcher, `http://hanging.test:${hanging.port}/`, { timeoutMs: 3000 }))
  const shed = [1, 2, 3].map((i) => refusalOf(() => fetchFrom(fetcher, `http://hanging.test:${hanging.port}/${i}`)))
  for (let i = 0; i < 3; i++) expect((await fetchFrom(fetcher, peer.url)).status).toBe(200)
  for (const refusal of await Promise.all(shed))
    expect([refusal.status, refusal.reason]).toEqual([503, 'outbound_full'])
  expect((await hung).reason).toBe('timeout')
  expect(hanging.asked).toEqual(['/'])
})
