// Where a fetch may go: literal addresses in every spelling, names with every kind of answer, and one resolution per fetch.
import dns from 'node:dns'
import { afterEach, expect, test, vi } from 'vitest'
import { hostRules } from '../../src/lib/host_rule.ts'
import { addressFault } from '../../src/net/address_rules.ts'
import { createFetcher } from '../../src/net/fetch.ts'
import { faultOf, fetchFrom, localFetcher, servePeer } from './peers.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

const PUBLIC = '93.184.215.14'

const guarded = (resolve?: (hostname: string) => Promise<string[]>) =>
  createFetcher({ allowPrivate: false, userAgent: 'service-test', ...(resolve ? { resolve } : {}) })

const LOOPBACK_SPELLINGS = [
  ...['127.0.0.1', '127.1', '127.0.1', '127.0.0.1.', '2130706433', '0x7f000001', '0x7f.1', '0x7F.0x0.0x0.0x1'],
  ...[
    '017700000001',
    '0177.0.0.1',
    '0177.1',
    '127.0.0.01',
    '127%2e0%2e0%2e1',
    '１２７.0.0.1',
    '①②⑦.⓪.⓪.①',
    '127。0。0。1',
  ],
  ...['[::1]', '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[64:ff9b::7f00:1]'],
  ...['[2002:7f00:1::]', '[::]', '0.0.0.0', '0'],
]
test.each(LOOPBACK_SPELLINGS)('the literal address %s is refused before a connection is opened', async (host) => {
  const trap = await servePeer((_, response) => response.end())
  const resolve = vi.fn()
  const fault = await faultOf(fetchFrom(guarded(resolve), `http://${host}:${trap.port}/`))
  expect(fault.reason).toBe('blocked_address')
  expect(trap.connections).toBe(0)
  expect(resolve).not.toHaveBeenCalled()
})

test.each(['[fe80::1%25eth0]', '[::1', '1.2.3.4.5', '256.1.1.1', '0x100000000', '127.0.0.1:99999'])(
  '%s is refused as an invalid host',
  async (host) => {
    expect((await faultOf(fetchFrom(guarded(), `http://${host}/`))).reason).toBe('bad_url')
  },
)

test('localhost is refused because of the addresses that it resolves to', async () => {
  const trap = await servePeer((_, response) => response.end())
  expect((await faultOf(fetchFrom(guarded(), `http://localhost:${trap.port}/`))).reason).toBe('blocked_address')
  expect(trap.connections).toBe(0)
})

test.each([
  ['private only', ['127.0.0.1']],
  ['public and private', [PUBLIC, '127.0.0.1']],
  ['private and public', ['127.0.0.1', PUBLIC]],
  ['public and mapped', [PUBLIC, '::ffff:127.0.0.1']],
  ['public and metadata', [PUBLIC, '169.254.169.254']],
  ['no address', [PUBLIC, 'nonsense']],
])('a name with %s answers is refused as a whole', async (_, addresses) => {
  const trap = await servePeer((_request, response) => response.end())
  const fetcher = guarded(async () => addresses)
  expect((await faultOf(fetchFrom(fetcher, `http://evil.test:${trap.port}/`))).reason).toBe('blocked_address')
  expect(trap.connections).toBe(0)
})

test.each(['169.254.169.254', '0.0.0.0', '224.0.0.1', 'fe80::1', '::ffff:127.0.0.1', '100.64.0.1', 'fd00:ec2::254'])(
  'a name that resolves to %s is refused even where private addresses are allowed',
  async (address) => {
    const fetcher = localFetcher({ resolve: async () => ['127.0.0.1', address] })
    expect((await faultOf(fetchFrom(fetcher, 'http://evil.test/'))).reason).toBe('blocked_address')
  },
)

const listed = (rules: string[], resolve: (hostname: string) => Promise<string[]>) =>
  createFetcher({
    allowPrivate: false,
    userAgent: 'service-test',
    hosts: { ...hostRules(rules), key: 'connect.allow_hosts' },
    resolve,
  })

test.each([
  ['a name', ['git.corp.example']],
  ['a wildcard', ['*.corp.example']],
  ['an address', ['127.0.0.1']],
  ['a range', ['127.0.0.0/30']],
])('a private host is reached when the list has %s for it', async (_, rules) => {
  const peer = await servePeer((_request, response) => response.end('x'))
  const fetcher = listed(rules, async () => ['127.0.0.1'])
  expect((await fetchFrom(fetcher, `http://git.corp.example:${peer.port}/`)).status).toBe(200)
})

test.each([
  ['another name', ['hub.corp.example'], ['127.0.0.1'], 'does not list git.corp.example'],
  ['a wildcard for another depth', ['*.example'], ['127.0.0.1'], 'does not list git.corp.example'],
  ['a range without it', ['10.0.0.0/8'], ['127.0.0.1'], 'does not list git.corp.example'],
  ['a range with only one of its addresses', ['127.0.0.0/8'], ['127.0.0.1', '10.0.0.1'], '10.0.0.1 is not public'],
  ['its name, for a metadata address', ['git.corp.example'], ['169.254.169.254'], 'does not list 169.254.169.254'],
  ['a range, for a metadata address', ['169.254.0.0/16'], ['169.254.169.254'], 'does not list 169.254.169.254'],
  ['everything, for a metadata address', ['0.0.0.0/0', '::/0'], ['fd00:ec2::254'], 'does not list fd00:ec2::254'],
])(
  'I33, I34 a private host is refused when the list has %s, and the error names the key',
  async (_, rules, addresses, why) => {
    const trap = await servePeer((_request, response) => response.end())
    const fault = await faultOf(
      fetchFrom(
        listed(rules, async () => addresses),
        `http://git.corp.example:${trap.port}/`,
      ),
    )
    expect([fault.reason, fault.key]).toEqual(['blocked_address', 'connect.allow_hosts'])
    expect(fault.message).toContain(why)
    expect(trap.connections).toBe(0)
  },
)

test.each(['0.0.0.0', '224.0.0.1', '::ffff:127.0.0.1', '64:ff9b::7f00:1', '::', '255.255.255.255'])(
  'no list allows %s, and the error names no key',
  async (address) => {
    const fetcher = listed(['git.corp.example', '0.0.0.0/0', '::/0', address], async () => [address])
    const fault = await faultOf(fetchFrom(fetcher, 'http://git.corp.example/'))
    expect([fault.reason, fault.key]).toEqual(['blocked_address', undefined])
  },
)

test('I33 a metadata address is allowed when the list has exactly that address', () => {
  // No request is sent: a machine in a cloud would answer it.
  const faultWith = (rule: string) =>
    addressFault(new URL('http://metadata.example/'), ['169.254.169.254'], {
      allowPrivate: true,
      hosts: { ...hostRules([rule]), key: 'connect.allow_hosts' },
    })
  expect(faultWith('169.254.169.254')).toBeUndefined()
  expect(faultWith('169.254.169.254/32')).toBeUndefined()
  expect(faultWith('169.254.169.0/24')?.key).toBe('connect.allow_hosts')
})

test('I34 a listed name that moves to a metadata address after the check (DNS rebinding) is refused', async () => {
  const peer = await servePeer((_, response) => response.end('x'))
  const resolve = vi.fn(async () => ['169.254.169.254']).mockResolvedValueOnce(['127.0.0.1'])
  const fetcher = listed(['git.corp.example'], resolve)
  const url = `http://git.corp.example:${peer.port}/`
  expect((await fetchFrom(fetcher, url)).status).toBe(200)
  expect((await faultOf(fetchFrom(fetcher, url))).reason).toBe('blocked_address')
  expect(peer.connections).toBe(1)
})

test('the connection goes to the checked address with the host name of the URL, and the name is resolved once', async () => {
  const peer = await servePeer((request, response) => response.end(request.headers.host))
  const bySystem = vi.spyOn(dns, 'lookup')
  const resolve = vi.fn(async () => ['127.0.0.1'])
  const { body } = await fetchFrom(localFetcher({ resolve }), `http://idp.test:${peer.port}/`)
  expect(String(body)).toBe(`idp.test:${peer.port}`)
  expect(resolve.mock.calls).toEqual([['idp.test']])
  expect(bySystem).not.toHaveBeenCalled()
})

test('a name whose address changes after the check (DNS rebinding) still connects to the checked address', async () => {
  const [first, second] = [await servePeer((_, response) => response.end('first')), '169.254.169.254']
  const resolve = vi.fn(async () => [second]).mockResolvedValueOnce(['127.0.0.1'])
  const fetcher = localFetcher({ resolve })
  const url = `http://rebind.test:${first.port}/`
  expect(String((await fetchFrom(fetcher, url)).body)).toBe('first')
  // The next fetch judges anew; no connection was kept that would let it pass.
  expect((await faultOf(fetchFrom(fetcher, url))).reason).toBe('blocked_address')
  expect(resolve).toHaveBeenCalledTimes(2)
  expect(first.connections).toBe(1)
})

test('if one checked address does not answer, the next one is tried', async () => {
  const peer = await servePeer((_, response) => response.end('x'))
  const fetcher = localFetcher({ resolve: async () => ['127.0.0.2', '::1', '127.0.0.1'] })
  expect((await fetchFrom(fetcher, `http://idp.test:${peer.port}/`)).status).toBe(200)
})

test('a name that does not resolve gives dns_failed', async () => {
  vi.spyOn(dns, 'lookup').mockImplementation(((_host: string, _options: unknown, done: (error: Error) => void) =>
    done(Object.assign(new Error('nothing'), { code: 'ENOTFOUND' }))) as typeof dns.lookup)
  const fault = await faultOf(fetchFrom(guarded(), 'https://nowhere.test/'))
  expect([fault.reason, fault.message]).toEqual(['dns_failed', 'fetch from nowhere.test: dns_failed (ENOTFOUND)'])
  expect(
    (
      await faultOf(
        fetchFrom(
          guarded(async () => []),
          'https://nowhere.test/',
        ),
      )
    ).reason,
  ).toBe('dns_failed')
})

test('names whose resolution hangs do not delay fetches from other names and from literal addresses', async () => {
  const peer = await servePeer((_, response) => response.end('x'))
  const resolve = vi.fn((name: string) =>
    name.startsWith('hang') ? new Promise<string[]>(() => {}) : Promise.resolve(['127.0.0.1']),
  )
  const fetcher = localFetcher({ resolve, maxTotal: 2 })
  const hung = Array.from({ length: 20 }, (_, i) =>
    faultOf(fetchFrom(fetcher, `https://hang${i}.test/`, { timeoutMs: 1000 })),
  )
  expect((await fetchFrom(fetcher, `http://other.test:${peer.port}/`)).status).toBe(200)
  expect((await fetchFrom(fetcher, peer.url)).status).toBe(200)
  expect(new Set((await Promise.all(hung)).map(({ reason }) => reason))).toEqual(new Set(['timeout']))
})
