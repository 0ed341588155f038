// Section I of the attack list: client documents as a way to make this service send requests (SSRF). One test per row, named by its id.
import { createServer } from 'node:https'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { ConfigError, loadConfig } from '../../src/config/load.ts'
import { redactText } from '../../src/telemetry/redact.ts'
import { cert, key } from '../net/certificate.ts'
import { FRAMING, flood, servePeer, serveRaw } from '../net/peers.ts'
import type { Browser } from '../support/browser.ts'
import { ask, DocumentServer, forgetDocuments, LOCAL_DOCUMENTS, refusalIn, signedIn } from '../support/documents.ts'
import { authorize, redeem } from '../support/flow.ts'
import { askOnly, NameServer } from '../support/name_server.ts'
import { addResource, addUser, REDIRECT_URI, startService, type TestService } from '../support/service.ts'

/** One service with the defaults, and one that may fetch from this machine. */
let guarded: TestService
let local: TestService
let documents: DocumentServer
let browser: Browser
let user: Awaited<ReturnType<typeof addUser>>
beforeAll(async () => {
  documents = await DocumentServer.start()
  guarded = await startService()
  local = await startService(LOCAL_DOCUMENTS)
  user = await addUser(local)
  browser = await signedIn(local, user)
})
afterAll(async () => {
  documents.close()
  await guarded.close()
  await local.close()
})
beforeEach(async () => {
  await forgetDocuments(guarded)
  await forgetDocuments(local)
})
afterEach(() => {
  vi.restoreAllMocks()
})

/** The error of a client_id, and the reason that the operator sees. */
async function refused(service: TestService, client_id: string): Promise<string> {
  const page = await ask(service, browser, { client_id })
  const trail = service.app.activity.list().find((each) => each.client_id === redactText(client_id.slice(0, 256)))
  return `${refusalIn(page).split(':')[0]}, ${trail?.steps.at(-1)?.reason}`
}
const isFine = async (client_id: string) => {
  const page = await ask(local, browser, { client_id })
  return page.location?.includes('/consent?') ?? false
}
/** Makes a name resolve to these addresses. */
async function answerFor(name: string, addresses: string[]): Promise<void> {
  const names = await NameServer.start()
  onTestFinished(() => names.close())
  names.names.set(name, addresses)
  askOnly(names)
}
const BLOCKED = '400 invalid_client, cimd_blocked_address'

test('I01 metadata services of clouds are not contacted', async () => {
  for (const host of ['169.254.169.254', '[fd00:ec2::254]', '168.63.129.16'])
    expect(await refused(guarded, `https://${host}/latest/meta-data`)).toBe(BLOCKED)
  await answerFor('metadata.google.internal', ['169.254.169.254'])
  expect(await refused(guarded, 'https://metadata.google.internal/x')).toBe(BLOCKED)
})

test('I03 every IPv6 form of a loopback address is blocked before a connection is made', async () => {
  const hosts = [
    '[::1]',
    '[::ffff:7f00:1]',
    '[64:ff9b::7f00:1]',
    '[::]',
    '[2002:7f00:1::]',
    '127.0.0.1',
    '0.0.0.0',
    'localhost',
  ]
  const before = documents.connections
  for (const host of hosts) expect(await refused(guarded, `https://${host}:${documents.port}/x`), host).toBe(BLOCKED)
  // A non-canonical spelling of an address is refused before it is resolved.
  for (const host of [
    '[::ffff:127.0.0.1]',
    '[fe80::1%25eth0]',
    '[0:0:0:0:0:0:0:1]',
    '2130706433',
    '127.1',
    '0177.0.0.1',
  ])
    expect(await refused(guarded, `https://${host}:${documents.port}/x`), host).toBe('400 invalid_client, cimd_url')
  expect(documents.connections).toBe(before)
})

test('I04 private, shared, reserved and multicast addresses are blocked', async () => {
  const addresses = [
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '100.64.0.1',
    '192.0.0.8',
    '198.18.0.1',
    '192.0.2.1',
  ]
  for (const address of [
    ...addresses,
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '198.51.100.1',
    '203.0.113.1',
    '[fc00::1]',
    '[fe80::1]',
    '[ff02::1]',
  ])
    expect(await refused(guarded, `https://${address}/x`), address).toBe(BLOCKED)
})

test('I05 a name with one private address among its addresses is blocked', async () => {
  await answerFor('evil.test', ['93.184.215.14', '127.0.0.1'])
  expect(await refused(guarded, `https://evil.test:${documents.port}/x`)).toBe(BLOCKED)
})

test('I07 redirects are not followed', async () => {
  const target = documents.publish('/internal')
  for (const status of [301, 302, 303, 307, 308]) {
    const client_id = documents.publish(`/moved-${status}`, {}, { status, headers: { location: target } })
    expect(await refused(local, client_id)).toBe('400 invalid_client, cimd_redirect')
  }
  expect(documents.count('/internal')).toBe(0)
})

test('I08 documents that are too large, endless, decompression bombs or too slow are aborted, and the service keeps working', async () => {
  const type = { 'content-type': 'application/json' }
  const big = documents.publish(
    '/big',
    {},
    { answer: (_, response) => response.writeHead(200, { ...type, 'content-length': 100_000_000 }).write('{') },
  )
  const endless = documents.publish(
    '/endless',
    {},
    {
      answer: (_, response) => {
        response.writeHead(200, type)
        const more = () => {
          while (!response.destroyed && response.write(' '.repeat(16_384)));
          response.once('drain', more)
        }
        more()
      },
    },
  )
  const bomb = documents.publish(
    '/bomb',
    {},
    { headers: { 'content-encoding': 'gzip' }, body: gzipSync(Buffer.alloc(50_000_000, ' ')) },
  )
  const drip = documents.publish(
    '/drip',
    {},
    {
      answer: (_, response) => {
        response.writeHead(200, type)
        const timer = setInterval(() => response.write(' '), 100)
        response.on('close', () => clearInterval(timer))
      },
    },
  )
  const hang = documents.publish('/hang', {}, { answer: () => {} })
  const floods: { sent: number }[] = []
  const framed = Object.entries(FRAMING).map(([name, framing]) =>
    documents.publish(
      `/${name.replace(' ', '-')}`,
      {},
      { answer: ({ socket }) => void floods.push(flood(socket, framing)) },
    ),
  )
  const outcomes = await Promise.all([big, endless, bomb, drip, hang].map((client_id) => refused(local, client_id)))
  // One after the other: beside each other they can take longer than the time of a fetch on a busy machine.
  for (const client_id of framed) outcomes.push(await refused(local, client_id))
  const reasons = ['too_large', 'too_large', 'too_large', 'timeout', 'timeout', 'too_large', 'too_large']
  expect(outcomes).toEqual(reasons.map((reason) => `400 invalid_client, cimd_${reason}`))
  expect(floods.length).toBe(2)
  for (const { sent } of floods) expect(sent).toBeLessThan(16_000_000)
  expect((await fetch(`${local.issuer}/health`)).status).toBe(200)
})

test('I09 only status 200 is accepted, and a failed fetch is not cached as a document', async () => {
  for (const status of [201, 202, 203, 206, 400, 404, 500, 503]) {
    const client_id = documents.publish(
      `/status-${status}`,
      {},
      { status, headers: { 'cache-control': 'max-age=3600' } },
    )
    const reason = status >= 500 ? 'cimd_unavailable' : 'cimd_status'
    expect(await refused(local, client_id)).toBe(`400 invalid_client, ${reason}`)
    expect(await local.app.store.findClient({ client_id })).toBeUndefined()
  }
  for (const status of [204, 304]) {
    const answer = documents.publish(
      `/empty-${status}`,
      {},
      { answer: (_, response) => response.writeHead(status).end() },
    )
    expect(await refused(local, answer)).toMatch(/^400 invalid_client, cimd_(status|redirect)$/)
  }
})

test('I11 a document must contain its own URL as client_id, byte for byte', async () => {
  const url = `${documents.origin}/self`
  for (const [i, client_id] of [
    `${url}/`,
    url.toUpperCase(),
    `${url}?`,
    `${url}#`,
    `${url}?a=1`,
    url.replace('localhost', '127.0.0.1'),
    ` ${url}`,
  ].entries()) {
    documents.publish(`/self-${i}`, { client_id: client_id.replace('/self', `/self-${i}`) })
    expect(await refused(local, `${documents.origin}/self-${i}`), client_id).toBe('400 invalid_client, cimd_client_id')
  }
})

test('I12 URLs without a path, with a fragment, a user or a non-canonical spelling are refused without a request', async () => {
  const before = documents.connections
  const origin = documents.origin
  const paths = [
    '',
    '/',
    '//',
    '/.',
    '/..',
    '/a/../b',
    '/%2e%2e/a',
    '/a#f',
    '/a#',
    '/a\tb',
    '/a\nb',
    '/a b',
    '/a\\b',
    '/ü',
    `/${'a'.repeat(3000)}`,
  ]
  const urls = paths.map((path) => origin + path)
  for (const client_id of [
    ...urls,
    origin.replace('//', '//u:p@').concat('/a'),
    origin.replace('http', 'HTTP').concat('/a'),
    origin.replace('localhost', 'LOCALHOST').concat('/a'),
  ])
    expect(await refused(local, client_id), client_id.slice(0, 80)).toMatch(
      /^400 invalid_client, cimd_(url|origin_only)$/,
    )
  // A host name in Unicode that resembles another host: only the ASCII form is a valid client_id.
  expect(await refused(guarded, 'https://gооd.example/a')).toBe('400 invalid_client, cimd_url')
  expect(documents.connections).toBe(before)
})

test('I13 documents with a secret, or with an authentication method that is unsupported, are refused, and not treated as public clients', async () => {
  const changes: Record<string, unknown>[] = [{ client_secret: 'x' }, { client_secret: ' ' }, { client_secret: {} }]
  const methods = [
    'client_secret_basic',
    'client_secret_post',
    'client_secret_jwt',
    'private_key_jwt',
    'tls_client_auth',
    'None',
    ' ',
  ]
  for (const [i, change] of [
    ...changes,
    ...methods.map((token_endpoint_auth_method) => ({ token_endpoint_auth_method })),
  ].entries())
    expect(await refused(local, documents.publish(`/secret-${i}`, change)), JSON.stringify(change)).toMatch(
      /^400 invalid_client, cimd_(document|auth_method)$/,
    )
})

// Every rule of the cache has its test in test/flows/cimd.test.ts; this is the row of the attack list.
test('I15 no-store and max-age=0 are honoured, a max-age of a billion seconds is limited to cache_ttl, and a malformed max-age disables caching', async () => {
  const cases: [string, Record<string, string>, number, number][] = [
    ['no-store', { 'cache-control': 'no-store' }, 0, 2],
    ['max-age=0', { 'cache-control': 'max-age=0' }, 0, 2],
    ['expired', { expires: 'Thu, 01 Jan 1970 00:00:00 GMT' }, 0, 2],
    ['garbage', { 'cache-control': 'max-age=x;;,=', expires: 'soon' }, 0, 2],
    ['floor', { 'cache-control': 'max-age=1' }, 50, 1],
    ['under the ceiling', { 'cache-control': 'max-age=1000000000' }, 3500, 1],
    ['over the ceiling', { 'cache-control': 'max-age=1000000000' }, 3601, 2],
  ]
  for (const [name, headers, seconds, fetches] of cases) {
    const path = `/kept-${name.replaceAll(' ', '-')}`
    const client_id = documents.publish(path, {}, { headers })
    expect(await isFine(client_id)).toBe(true)
    local.advance(seconds)
    expect(await isFine(client_id)).toBe(true)
    expect(documents.count(path), name).toBe(fetches)
  }
})

test('I16 1000 client_ids on one host without a session cause few requests to that host; concurrent requests for one URL cause one', async () => {
  const url = new URL(`${local.issuer}/oauth/authorize`)
  const before = documents.asked.length
  const startedMs = performance.now()
  const statuses = new Map<number, number>()
  for (let batch = 0; batch < 5; batch++)
    await Promise.all(
      Array.from({ length: 200 }, async (_, i) => {
        url.searchParams.set('client_id', `${documents.origin}/victim/${batch}-${i}`)
        const { status } = await fetch(url.href, { redirect: 'manual' })
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }),
    )
  const asked = documents.asked.length - before
  // A burst of 50, then ten a second.
  expect(asked).toBeGreaterThanOrEqual(30)
  expect(asked).toBeLessThanOrEqual(50 + (10 * (performance.now() - startedMs)) / 1000)
  expect(statuses.get(429)).toBeGreaterThan(500)
})

test('I16 requests for unknown paths on a host do not block a known client of that host', async () => {
  const client_id = documents.publish('/known', {}, { headers: { 'cache-control': 'no-store' } })
  expect((await ask(local, browser, { client_id })).status).toBe(303)
  const isUsedUp = async (i: number) => {
    const url = (n: number) => `${documents.origin}/made-up/${i}-${n}`
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => ask(local, browser, { client_id: url(n) })))
    return answers.some(({ status }) => status === 429)
  }
  for (let i = 0; !(await isUsedUp(i)); i++) expect(i).toBeLessThan(1000)
  expect((await ask(local, browser, { client_id })).status).toBe(303)
})

test('I17 a document that changes its redirect_uris after a consent: the old code is valid, and a new URI requires the new document', async () => {
  const resource = (await addResource(local)).uri
  const second = 'https://client.example.com/second'
  const client_id = documents.publish('/changing', {}, { headers: { 'cache-control': 'no-store' } })
  const authorized = await authorize(local, { client_id }, user, { resource }, browser)
  expect(refusalIn(await ask(local, browser, { client_id, redirect_uri: second }))).toMatch('not registered')
  documents.publish('/changing', { redirect_uris: [second] }, { headers: { 'cache-control': 'no-store' } })
  expect((await redeem(local, { client_id }, authorized, { redirect_uri: REDIRECT_URI })).status).toBe(200)
  const moved = await ask(local, browser, { client_id, redirect_uri: second, resource })
  expect(moved.location).toMatch(/^https:\/\/client\.example\.com\/second\?code=/)
  expect(refusalIn(await ask(local, browser, { client_id, redirect_uri: REDIRECT_URI }))).toMatch('not registered')
})

// A certificate for another host is refused in test/net/fetch_tls.test.ts, where a process trusts its issuer.
test('I19 an untrusted TLS certificate is refused', async () => {
  const strict = await startService({ SERVICE_CIMD_ALLOW_PRIVATE_ADDRESSES: 'true' })
  const peer = await servePeer((_, response) => response.end(), createServer({ key, cert }), 'https')
  try {
    expect(await refused(strict, `https://localhost:${peer.port}/x`)).toBe('400 invalid_client, cimd_tls_failed')
    expect(peer.asked).toEqual([])
  } finally {
    await strict.close()
  }
})

// The response times differ, because a closed port answers at once. A scan is limited by the ten requests a second for one host,
// independent of the port, and by one attempt in 30 seconds for a URL that failed.
test('I20 open, closed, silent and non-HTTP ports get the same error message', async () => {
  const open = await servePeer(() => {})
  const ssh = await serveRaw('SSH-2.0-OpenSSH_9.6\r\n')
  const rude = await serveRaw('', (socket) => socket.destroy())
  const silent = await serveRaw('', () => {})
  const pages = []
  for (const each of [ssh.port, rude.port, silent.port, 1])
    pages.push(refusalIn(await ask(local, browser, { client_id: `http://127.0.0.1:${each}/x` })))
  expect([...new Set(pages)]).toEqual(['400 invalid_client: the client document cannot be fetched'])
  expect(refusalIn(await ask(guarded, browser, { client_id: `https://127.0.0.1:${open.port}/x` }))).toBe(pages[0])
})

test('I21 cimd.require_https=false and private addresses are refused at start unless the issuer is on localhost', () => {
  const env = (more: Record<string, string>) => ({
    SERVICE_SERVER_ISSUER: 'https://auth.example.com',
    SERVICE_SESSION_SECRET: '0123456789abcdef'.repeat(2),
    SERVICE_SESSION_SECURE: 'true',
    SERVICE_ADMIN_API_KEY: 'fedcba9876543210'.repeat(2),
    ...more,
  })
  expect(() => loadConfig(undefined, env({}))).not.toThrow()
  for (const [name, value] of [
    ['SERVICE_CIMD_REQUIRE_HTTPS', 'false'],
    ['SERVICE_CIMD_ALLOW_PRIVATE_ADDRESSES', 'true'],
  ] as const) {
    const more = { [name]: value }
    expect(() => loadConfig(undefined, env(more))).toThrow(ConfigError)
    expect(() => loadConfig(undefined, { ...env(more), SERVICE_SERVER_ISSUER: 'http://localhost:9000' })).not.toThrow()
  }
})
