// What anonymous callers cause with hosts of their choice, while clients of operators and users need outgoing requests.
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { addKeyedClient, tryAssertion } from '../support/assertion.ts'
import { Browser } from '../support/browser.ts'
import { ask, DocumentServer, forgetDocuments, LOCAL_DOCUMENTS, refusalIn, signedIn } from '../support/documents.ts'
import { authorizeUrl, decide } from '../support/flow.ts'
import { TestIdp } from '../support/idp.ts'
import { addResource, addUser, REDIRECT_URI, startService, type TestService } from '../support/service.ts'

let service: TestService
let documents: DocumentServer
let person: Browser
let resource: { uri: string }
let silent: Server
const sockets = new Set<Socket>()
beforeAll(async () => {
  documents = await DocumentServer.start()
  service = await startService({
    ...LOCAL_DOCUMENTS,
    SERVICE_CIMD_FETCH_TIMEOUT: '10s',
    SERVICE_SERVER_TRUSTED_PROXIES: '127.0.0.1,::1',
  })
  resource = await addResource(service)
  person = await signedIn(service, await addUser(service))
  // Accepts connections at every loopback address, and never answers.
  silent = createServer((socket) => sockets.add(socket.on('error', () => {}))).listen(0, '0.0.0.0')
  await once(silent, 'listening')
})
beforeEach(() => forgetDocuments(service))
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  silent.close()
  documents.close()
  await service.close()
})

const nobody = (address?: string) => new Browser(address ? { 'x-forwarded-for': address } : {})
/** Authorization requests of an anonymous caller that name documents at hosts which never answer. They are not awaited. */
function hangAt(count: number, address?: string): void {
  const { port } = silent.address() as AddressInfo
  for (let i = 1; i <= count; i++)
    ask(service, nobody(address), { client_id: `http://127.0.9.${i}:${port}/${address ?? 'client'}.json` }).catch(
      () => {},
    )
}
/** The user of a browser consents to a client at a resource. */
async function consent(browser: Browser, client_id: string): Promise<void> {
  const page = await browser.follow(authorizeUrl(service, { client_id, resource: resource.uri, scope: 'mcp:read' }))
  expect((await decide(service, browser, page, 'allow')).location).toContain('code=')
}
const isAsked = async (browser: Browser, client_id: string) => {
  const page = await ask(service, browser, { client_id })
  return page.location ? 'redirected' : refusalIn(page)
}

test("I50 invented client ids at the host of an operator's jwks_uri do not use up the limit of its key set", async () => {
  const peer = await TestIdp.start()
  const clients = []
  for (let i = 0; i < 20; i++) clients.push(await addKeyedClient(service, { jwks_uri: `${peer.jwks_uri}?${i}` }))
  const invented = await Promise.all(
    Array.from({ length: 60 }, (_, i) => isAsked(nobody(`203.0.113.${i}`), `${peer.issuer}/invented/${i}`)),
  )
  expect(invented.filter((each) => each.startsWith('429 slow_down')).length).toBeGreaterThan(0)
  const answers = await Promise.all(clients.map((client) => tryAssertion(service, client, {}, peer.key)))
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200))
})

test('I52 anonymous callers use up the limit of a host for anonymous callers, not for users', async () => {
  let asked = 0
  const askMany = () =>
    Promise.all(Array.from({ length: 60 }, () => isAsked(nobody(), `${documents.origin}/none/${asked++}`)))
  // The limit has a rate, so that a slow machine must ask more often.
  await expect.poll(async () => (await askMany()).at(-1)).toMatch(/^429 slow_down/)
  expect(await isAsked(person, documents.publish('/of-the-host.json'))).toBe('redirected')
})

test('I53 a document that failed for an anonymous caller is fetched again for a user', async () => {
  const flaky = documents.publish('/flaky.json', {}, { status: 503 })
  expect(await isAsked(nobody(), flaky)).toMatch(/^400 invalid_client/)
  documents.publish('/flaky.json')
  expect(await isAsked(nobody(), flaky)).toMatch(/^400 invalid_client/)
  expect(await isAsked(person, flaky)).toBe('redirected')
  expect(await isAsked(nobody(), flaky)).toBe('redirected')
})

test('I54 copies of documents of stored clients are not evicted by those of anonymous callers', () => {
  const { known } = service.app.documents
  const kept = { until: Number.MAX_SAFE_INTEGER, standing: 'consented' as const }
  known.set('https://app.example/client', kept, true)
  for (let i = 0; i < 3000; i++) known.set(`https://evil.example/${i}`, { ...kept, standing: 'anonymous' }, false)
  expect(known.get('https://app.example/client')).toBe(kept)
  expect(known.get('https://evil.example/0')).toBe(undefined)
})

test('I51 fifty hosts that accept and never answer delay neither users nor clients of operators', async () => {
  const peer = await TestIdp.start()
  const client = await addKeyedClient(service, { jwks_uri: peer.jwks_uri })
  const wanted = documents.publish('/wanted.json')
  hangAt(50)
  // One address has eight of the places.
  await expect.poll(() => sockets.size).toBe(8)
  const [answer, page] = await Promise.all([tryAssertion(service, client, {}, peer.key), isAsked(person, wanted)])
  expect([answer.status, page]).toEqual([200, 'redirected'])
  expect(sockets.size).toBe(8)
})

test('I55 an address that has used up its places does not refuse the documents that it names to other addresses', async () => {
  const wanted = documents.publish('/wanted-by-others.json')
  const before = sockets.size
  hangAt(30, '192.0.2.10')
  await expect.poll(() => sockets.size).toBe(before + 8)
  const early = [1, 2, 3].map(() => isAsked(nobody('192.0.2.10'), wanted))
  await new Promise((resolve) => setTimeout(resolve, 300))
  const others = [11, 12, 13].map((last) => isAsked(nobody(`192.0.2.${last}`), wanted))
  expect(await Promise.all(others)).toEqual(Array(3).fill('redirected'))
  await Promise.all(early)
})

test('I56 many own clients of one user, whose hosts hang, take neither the places nor the copies of clients of others', async () => {
  let isSilent = false
  const held = new Set<unknown>()
  const hosts = createHttpServer((request, response) => {
    if (isSilent) return void held.add(response)
    const client_id = `http://${request.headers.host}${request.url}`
    const headers = { 'content-type': 'application/json' }
    response.writeHead(200, headers).end(JSON.stringify({ client_id, client_name: 'E', redirect_uris: [REDIRECT_URI] }))
  }).listen(0, '0.0.0.0')
  await once(hosts, 'listening')
  const { port } = hosts.address() as AddressInfo
  const good = documents.publish('/consented.json')
  await consent(person, good)
  const mallory = await signedIn(service, await addUser(service))
  const own = Array.from({ length: 40 }, (_, i) => `http://127.0.10.${i + 1}:${port}/own.json`)
  for (const client_id of own) await consent(mallory, client_id)
  await forgetDocuments(service)
  isSilent = true
  // Each from its own address, so that only the share of the user who consented limits them.
  own.forEach((client_id, i) => {
    ask(service, nobody(`198.51.100.${i + 1}`), { client_id }).catch(() => {})
  })
  await expect.poll(() => held.size).toBeGreaterThanOrEqual(8)
  expect(await isAsked(person, good)).toBe('redirected')
  expect(held.size).toBe(8)
  hosts.closeAllConnections()
  hosts.close()
})

test('I57 one address has a share of the places of clients with a consent', async () => {
  const { places } = service.app.documents
  const run = vi.spyOn(places, 'run')
  const client_id = documents.publish('/shared.json')
  for (const browser of [person, await signedIn(service, await addUser(service))]) await consent(browser, client_id)
  service.app.documents.known.delete(client_id)
  run.mockClear()
  expect(await isAsked(nobody('192.0.2.20'), client_id)).toBe('redirected')
  expect(run.mock.calls.map(([name]) => name)).toEqual(['consented address 192.0.2.20'])
})
