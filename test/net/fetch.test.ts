// One exchange: what is sent, what comes back, what is refused, and who shares it.
import net from 'node:net'
import { expect, test, vi } from 'vitest'
import type { FetchRequest } from '../../src/net/fetcher.ts'
import { faultOf, fetchFrom, listenOn, localFetcher, servePeer, serveRaw } from './peers.ts'

test('a GET returns the status, the body, and the headers in lower case with repeated headers joined', async () => {
  const peer = await servePeer((_, response) => {
    response.writeHead(404, [...['X-Twice', 'a'], ...['X-Twice', 'b'], ...['Content-Type', 'text/plain']]).end('none')
  })
  const { status, headers, body } = await fetchFrom(localFetcher(), `${peer.url}/a?b=c#d`)
  expect([status, headers['x-twice'], headers['content-type'], String(body)]).toEqual([
    404,
    'a, b',
    'text/plain',
    'none',
  ])
  expect(peer.asked).toEqual(['/a?b=c'])
})

test('a request has only the given headers: no cookies, no credentials and no Accept-Encoding', async () => {
  const seen = vi.fn()
  const peer = await servePeer((request, response) => {
    seen(request.headers)
    response.setHeader('set-cookie', 'a=b').end()
  })
  const fetcher = localFetcher()
  for (let i = 0; i < 2; i++) await fetchFrom(fetcher, peer.url, { accept: 'application/json' })
  const sent = { host: `127.0.0.1:${peer.port}`, accept: 'application/json', 'accept-encoding': 'identity' }
  expect(seen.mock.calls).toEqual(Array(2).fill([{ ...sent, 'user-agent': 'service-test', connection: 'close' }]))
})

test('a POST sends its headers and its body', async () => {
  const seen = vi.fn()
  const peer = await servePeer(async (request, response) => {
    seen(request.method, request.headers.authorization, String(Buffer.concat(await request.toArray())))
    response.end()
  })
  const headers = { authorization: 'Basic abc', 'content-type': 'application/x-www-form-urlencoded' }
  await fetchFrom(localFetcher(), peer.url, { method: 'POST', headers, body: 'a=b' })
  expect(seen).toHaveBeenCalledWith('POST', 'Basic abc', 'a=b')
})

test.each([
  ['ftp://127.0.0.1/', ''],
  ['//127.0.0.1/', ''],
  ['https://', ''],
  ['https://a b/', ''],
  ['https://a\\@b/', ''],
  ['not a url', ''],
  ['https://user:hunter2@example.com/', 'example.com'],
  ['https://user@example.com/', 'example.com'],
])('the URL %s is refused before any name is resolved', async (url, host) => {
  const resolve = vi.fn()
  const fault = await faultOf(fetchFrom(localFetcher({ resolve }), url))
  expect([fault.reason, fault.host]).toEqual(['bad_url', host])
  expect(fault.message).not.toContain('hunter2')
  expect(resolve).not.toHaveBeenCalled()
})

test('http is refused unless the request allows it', async () => {
  const peer = await servePeer((_, response) => response.end())
  expect((await faultOf(fetchFrom(localFetcher(), peer.url, { allowHttp: false }))).reason).toBe('bad_url')
  expect(peer.connections).toBe(0)
})

test.each([300, 301, 302, 303, 304, 307, 308])(
  'a response with status %i is refused, and the target of its redirect is never contacted',
  async (status) => {
    const trap = await servePeer((_, response) => response.end())
    const peer = await servePeer((_, response) => response.writeHead(status, { location: trap.url }).end())
    expect((await faultOf(fetchFrom(localFetcher(), peer.url))).reason).toBe('redirect')
    expect(trap.connections).toBe(0)
  },
)

test('proxies from environment variables are not used', async () => {
  const trap = await servePeer((_, response) => response.end('proxied'))
  for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY']) vi.stubEnv(name, trap.url)
  const peer = await servePeer((_, response) => response.end('direct'))
  expect(String((await fetchFrom(localFetcher(), peer.url)).body)).toBe('direct')
  expect(trap.connections).toBe(0)
  vi.unstubAllEnvs()
})

test('a port without a listener gives connect_failed', async () => {
  const server = net.createServer()
  const { url } = await listenOn(server)
  await new Promise((resolve) => server.close(resolve))
  const fault = await faultOf(fetchFrom(localFetcher(), url))
  expect([fault.reason, fault.message]).toEqual([
    'connect_failed',
    `fetch from ${new URL(url).host}: connect_failed (ECONNREFUSED)`,
  ])
})

test.each([
  ['no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ['no answer', ''],
  ['half a body', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf'],
  ['half a chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n40\r\nhalf'],
  ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'],
])('a response with %s gives bad_response', async (_, lines) => {
  const peer = await serveRaw(lines)
  const fault = await faultOf(fetchFrom(localFetcher(), peer.url))
  expect(fault.reason).toBe('bad_response')
  expect(fault.message).not.toMatch(/SSH|half/)
})

test('an error contains nothing of the path, headers and body that were sent', async () => {
  const peer = await serveRaw('nonsense')
  const request = { method: 'POST', headers: { authorization: 'Bearer hunter2' }, body: 'secret=hunter2' } as const
  const fault = await faultOf(fetchFrom(localFetcher(), `${peer.url}/hunter2?code=hunter2`, request))
  expect(JSON.stringify([fault.message, fault.stack, fault.cause, { ...fault }])).not.toContain('hunter2')
})

test('every fetch opens its own connection and closes it', async () => {
  const peer = await servePeer((_, response) => response.end('x'))
  const fetcher = localFetcher()
  for (let i = 0; i < 3; i++) await fetchFrom(fetcher, peer.url)
  expect(peer.connections).toBe(3)
  await vi.waitFor(() => expect(peer.open.size).toBe(0))
})

test('concurrent GETs of one URL send one request; a later GET sends another one', async () => {
  const peer = await servePeer((_, response) => setTimeout(() => response.end('x'), 30))
  const fetcher = localFetcher()
  const replies = await Promise.all(Array.from({ length: 20 }, () => fetchFrom(fetcher, peer.url)))
  expect(replies.map(({ body }) => String(body))).toEqual(Array(20).fill('x'))
  expect(peer.asked.length).toBe(1)
  await fetchFrom(fetcher, peer.url)
  expect(peer.asked.length).toBe(2)
})

test('a shared fetch that fails is an error for all its callers, and the error is not cached', async () => {
  let status = 302
  const peer = await servePeer((_, response) => response.writeHead(status).end())
  const fetcher = localFetcher()
  const faults = await Promise.all([1, 2].map(() => faultOf(fetchFrom(fetcher, peer.url))))
  expect(faults.map(({ reason }) => reason)).toEqual(['redirect', 'redirect'])
  expect(peer.asked.length).toBe(1)
  status = 200
  expect((await fetchFrom(fetcher, peer.url)).status).toBe(200)
})

test.each<[string, string[], Partial<FetchRequest>[]]>([
  ['other URLs', ['/a', '/b'], [{}, {}]],
  ['other limits', ['/', '/'], [{ maxBytes: 10 }, { maxBytes: 20 }]],
  ['requests with headers, which may be credentials', ['/', '/'], [{ headers: { a: 'b' } }, { headers: { a: 'b' } }]],
  ['POSTs', ['/', '/'], [{ method: 'POST' }, { method: 'POST' }]],
])('%s do not share one request', async (_, paths, requests) => {
  const peer = await servePeer((_request, response) => setTimeout(() => response.end('x'), 30))
  const fetcher = localFetcher()
  await Promise.all(requests.map((request, i) => fetchFrom(fetcher, `${peer.url}${paths[i]}`, request)))
  expect(peer.asked).toEqual(paths)
})
