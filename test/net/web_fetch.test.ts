// The guarded client as a library sees it: a fetch that keeps to the limits of the service.
import { expect, test } from 'vitest'
import { webFetch } from '../../src/net/web_fetch.ts'
import { faultOf, localFetcher, servePeer } from './peers.ts'

const LIMITS = { maxBytes: 1024, timeoutMs: 5000, allowHttp: true }

test('a request is sent with its method, headers and body, and the result is a Response', async () => {
  const seen: Record<string, unknown>[] = []
  const peer = await servePeer(async (request, response) => {
    const { method, headers } = request
    let body = ''
    for await (const chunk of request) body += chunk
    seen.push({ method, body, type: headers['content-type'], agent: headers['user-agent'], extra: headers['x-extra'] })
    response.writeHead(418, { 'content-type': 'application/json', 'x-answer': 'yes' }).end('{"a":1}')
  })
  const answer = await webFetch(localFetcher(), LIMITS)(peer.url, {
    method: 'POST',
    headers: { 'x-extra': '1', 'user-agent': 'the library', 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ a: 'b c' }),
  })
  expect([answer.status, answer.headers.get('x-answer'), await answer.json()]).toEqual([418, 'yes', { a: 1 }])
  expect(seen).toEqual([
    { method: 'POST', body: 'a=b+c', type: 'application/x-www-form-urlencoded', agent: expect.anything(), extra: '1' },
  ])
  expect(seen[0]?.['agent']).not.toBe('the library')
})

test('a response without a body is returned', async () => {
  const peer = await servePeer((_, response) => response.writeHead(204).end())
  const answer = await webFetch(localFetcher(), LIMITS)(peer.url, { method: 'GET', headers: {} })
  expect([answer.status, answer.body]).toEqual([204, null])
})

test('redirects, responses over the limit and refused addresses reject with the error of the guarded client', async () => {
  const peer = await servePeer((request, response) => {
    if (request.url === '/moved') response.writeHead(302, { location: '/' }).end()
    else response.writeHead(200).end('x'.repeat(2000))
  })
  const get = (url: string) => webFetch(localFetcher(), LIMITS)(url, { method: 'GET', headers: {} })
  expect((await faultOf(get(`${peer.url}/moved`))).reason).toBe('redirect')
  expect((await faultOf(get(peer.url))).reason).toBe('too_large')
  expect((await faultOf(get('http://169.254.169.254/'))).reason).toBe('blocked_address')
})
