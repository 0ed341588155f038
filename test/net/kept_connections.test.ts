// A client that keeps connections uses an open one again only for the same origin and an address that was checked for the request.
import { expect, test, vi } from 'vitest'
import { faultOf, fetchFrom, localFetcher, servePeer, serveRaw } from './peers.ts'

const KEEP = { keepMs: 60_000 }
const POST = { method: 'POST', body: 'x' } as const

test('requests one after the other use one connection, and the peer is not asked to close it', async () => {
  const seen: (string | undefined)[] = []
  const peer = await servePeer((request, response) => {
    seen.push(request.headers.connection)
    response.end('x')
  })
  const fetcher = localFetcher(KEEP)
  for (let i = 0; i < 5; i++) expect((await fetchFrom(fetcher, peer.url, POST)).status).toBe(200)
  expect([peer.connections, new Set(seen)]).toEqual([1, new Set(['keep-alive'])])
})

test('requests at the same time have connections of their own, and all of them are used again', async () => {
  const waiting: (() => void)[] = []
  const peer = await servePeer((_, response) => {
    waiting.push(() => response.end('x'))
    if (waiting.length === 3) for (const answer of waiting.splice(0)) answer()
  })
  const fetcher = localFetcher(KEEP)
  for (let i = 0; i < 2; i++) await Promise.all([1, 2, 3].map(() => fetchFrom(fetcher, peer.url, POST)))
  expect(peer.connections).toBe(3)
})

test('a connection that is not used again is closed', async () => {
  const peer = await servePeer((_, response) => response.end('x'))
  await fetchFrom(localFetcher({ keepMs: 10 }), peer.url)
  await vi.waitFor(() => expect(peer.open.size).toBe(0))
})

test('V14 a name that moved to another address is not served by the open connection (DNS rebinding)', async () => {
  const peer = await servePeer((_, response) => response.end('x'))
  const resolve = vi.fn(async () => ['127.0.0.1'])
  const fetcher = localFetcher({ ...KEEP, resolve })
  const url = `http://moved.test:${peer.port}/`
  await fetchFrom(fetcher, url, POST)
  resolve.mockResolvedValueOnce(['169.254.169.254'])
  expect((await faultOf(fetchFrom(fetcher, url, POST))).reason).toBe('blocked_address')
  resolve.mockResolvedValueOnce(['127.0.0.2'])
  await faultOf(fetchFrom(fetcher, url, POST))
  expect(peer.connections).toBe(1)
  expect(resolve).toHaveBeenCalledTimes(3)
})

test('a connection that the peer closes is replaced', async () => {
  const peer = await servePeer((_, response) => response.writeHead(200, { connection: 'close' }).end('x'))
  const fetcher = localFetcher(KEEP)
  for (let i = 0; i < 3; i++) {
    expect((await fetchFrom(fetcher, peer.url, POST)).status).toBe(200)
    await vi.waitFor(() => expect(peer.open.size).toBe(0))
  }
  expect(peer.connections).toBe(3)
})

test('the limit of received bytes holds for each request, not for the connection', async () => {
  const peer = await servePeer((request, response) =>
    response.end('x'.repeat(request.url === '/long' ? 200_000 : 50_000)),
  )
  const fetcher = localFetcher(KEEP)
  const limit = { ...POST, maxBytes: 50_000 }
  for (let i = 0; i < 20; i++) expect((await fetchFrom(fetcher, `${peer.url}/`, limit)).body).toHaveLength(50_000)
  expect(peer.connections).toBe(1)
  expect((await faultOf(fetchFrom(fetcher, `${peer.url}/long`, limit))).reason).toBe('too_large')
  await vi.waitFor(() => expect(peer.open.size).toBe(0))
})

test('a request that fails closes its connection', async () => {
  const peer = await servePeer((request, response) => {
    if (request.url !== '/hangs') response.end('x')
  })
  const fetcher = localFetcher(KEEP)
  await fetchFrom(fetcher, peer.url, POST)
  expect((await faultOf(fetchFrom(fetcher, `${peer.url}/hangs`, { ...POST, timeoutMs: 50 }))).reason).toBe('timeout')
  await vi.waitFor(() => expect(peer.open.size).toBe(0))
  expect((await fetchFrom(fetcher, peer.url, POST)).status).toBe(200)
  expect(peer.connections).toBe(2)
})

test('V15 a response that nothing was sent for closes the connection, and answers no later request', async () => {
  const one = 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n'
  const peer = await serveRaw(`${one}1${one}2`, () => {})
  const fetcher = localFetcher(KEEP)
  const bodies = []
  for (let i = 0; i < 3; i++) bodies.push(String((await fetchFrom(fetcher, peer.url, POST)).body))
  expect(bodies).toEqual(['1', '1', '1'])
  expect(peer.connections).toBe(3)
})
