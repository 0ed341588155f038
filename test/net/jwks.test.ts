// Remote key sets: which keys are given for what, and how often anybody is asked for them.
import { expect, test, vi } from 'vitest'
import { unavailable } from '../../src/lib/error.ts'
import { FetchError } from '../../src/net/error.ts'
import { createRemoteKeys } from '../../src/net/jwks.ts'
import type { Jwk } from '../../src/records/jwk.ts'
import { testClock } from '../support/clock.ts'
import { faultOf, localFetcher, servePeer } from './peers.ts'

const TTL = 3600
const COOLDOWN = 60
const ec = (kid?: string, more: object = {}) => ({ kty: 'EC', crv: 'P-256', x: `x-${kid}`, y: 'y', kid, ...more })
const rsa = (kid?: string, more: object = {}) => ({ kty: 'RSA', n: `n-${kid}`, e: 'AQAB', kid, ...more })

interface Answer {
  status?: number
  type?: string
  keys?: unknown
  body?: string
  delayMs?: number
}

/** An identity provider whose answer a test may change, and the keys cache that asks it. */
async function identityProvider(answer: Answer) {
  const idp = { answer, uri: '', headers: {} as Record<string, unknown> }
  const peer = await servePeer((request, response) => {
    idp.headers = request.headers
    const { status = 200, type = 'application/json', keys, body = JSON.stringify({ keys }), delayMs = 0 } = idp.answer
    setTimeout(() => response.writeHead(status, { 'content-type': type }).end(body), delayMs)
  })
  idp.uri = `${peer.url}/jwks`
  const clock = testClock()
  const fetcher = localFetcher()
  const lookUps = { hit: 0, miss: 0 }
  const onLookup = (outcome: keyof typeof lookUps) => lookUps[outcome]++
  const remote = createRemoteKeys({ fetcher, clock, ttl: TTL, cooldown: COOLDOWN, allowHttp: true, onLookup })
  const find = async (kid?: string, alg: 'ES256' | 'RS256' | 'PS256' = 'ES256') => remote.find(idp.uri, { kid, alg })
  return { idp, peer, clock, remote, lookUps, find, fetches: () => peer.asked.length }
}
const kids = (keys: readonly Jwk[]) => keys.map(({ kid }) => kid)

test('a key set is fetched once and cached for its cache time, and every lookup returns the same objects', async () => {
  const { clock, find, fetches, lookUps, idp } = await identityProvider({ keys: [ec('a')] })
  const first = await find('a')
  expect(first).toEqual([{ kty: 'EC', crv: 'P-256', x: 'x-a', y: 'y', kid: 'a' }])
  clock.advance(TTL - 1)
  expect((await find('a'))[0]).toBe(first[0])
  expect(fetches()).toBe(1)
  clock.advance(1)
  await find('a')
  expect([fetches(), lookUps]).toEqual([2, { hit: 1, miss: 2 }])
  expect(idp.headers).toMatchObject({
    accept: 'application/jwk-set+json, application/json',
    'cache-control': 'no-cache',
  })
})

test('a fetch that was refused here starts no cooldown, and one that failed a short one', async () => {
  const clock = testClock()
  let fault: Error | undefined
  let fetches = 0
  const keys = [ec('a')]
  const fetcher = {
    fetch: async () => {
      fetches++
      if (fault) throw fault
      return {
        status: 200,
        headers: { 'content-type': 'application/json' },
        body: Buffer.from(JSON.stringify({ keys })),
      }
    },
  }
  const remote = createRemoteKeys({ fetcher, clock, ttl: TTL, cooldown: COOLDOWN, allowHttp: true })
  const find = (kid: string) =>
    remote.find('https://app.example/jwks', { kid, alg: 'ES256' }).then(kids, (error) => error.reason)
  expect(await find('a')).toEqual(['a'])
  keys.push(ec('b'))
  fault = unavailable('no place', { reason: 'outbound_full' })
  expect(await find('b')).toBe('outbound_full')
  fault = new FetchError('timeout', 'app.example')
  expect(await find('b')).toBe('timeout')
  expect([await find('b'), fetches]).toEqual([[], 3])
  fault = undefined
  clock.advance(10)
  expect([await find('b'), fetches]).toEqual([['b'], 4])
  expect([await find('c'), fetches]).toEqual([[], 4])
  clock.advance(COOLDOWN)
  expect([await find('c'), await find('c'), fetches]).toEqual([[], [], 5])
})

test('concurrent lookups share one fetch', async () => {
  const { find, fetches } = await identityProvider({ keys: [ec('a')], delayMs: 30 })
  const found = await Promise.all(Array.from({ length: 20 }, () => find('a')))
  expect(found.map(kids)).toEqual(Array(20).fill(['a']))
  expect(fetches()).toBe(1)
})

test('a caller that gets no turn uses the old set, and its refusal is not that of others who need the same set', async () => {
  const { remote, idp, clock, fetches } = await identityProvider({ keys: [ec('a')] })
  const wanted = { kid: 'a', alg: 'ES256' } as const
  const refused = () => Promise.reject(unavailable('no place'))
  const waiting = expect(remote.find(idp.uri, wanted, refused)).rejects.toThrow('no place')
  expect(kids(await remote.find(idp.uri, wanted))).toEqual(['a'])
  await waiting
  clock.advance(TTL)
  expect(kids(await remote.find(idp.uri, wanted, refused))).toEqual(['a'])
  expect(fetches()).toBe(1)
})

test('a rotated key causes one fetch, which all waiting lookups share, and the old key is removed', async () => {
  const { idp, find, fetches } = await identityProvider({ keys: [ec('old')] })
  await find('old')
  idp.answer = { keys: [ec('new')], delayMs: 30 }
  const found = await Promise.all(Array.from({ length: 20 }, () => find('new')))
  expect(found.map(kids)).toEqual(Array(20).fill(['new']))
  expect(await find('old')).toEqual([])
  expect(fetches()).toBe(2)
})

test('a thousand lookups of unknown keys cause one fetch per cool-down', async () => {
  const { clock, find, fetches } = await identityProvider({ keys: [ec('a')] })
  await find('a')
  for (let i = 0; i < 1000; i++) expect(await find(`made-up-${i}`)).toEqual([])
  expect(fetches()).toBe(2)
  clock.advance(COOLDOWN - 1)
  await find('x')
  expect(fetches()).toBe(2)
  clock.advance(1)
  await find('x')
  await find('y')
  expect(fetches()).toBe(3)
  expect(kids(await find('a'))).toEqual(['a'])
})

test('the first fetch of a key set answers the lookup of an unknown key without a second fetch', async () => {
  const { find, fetches } = await identityProvider({ keys: [ec('a')] })
  expect(await find('unknown')).toEqual([])
  expect(fetches()).toBe(1)
})

test('a refetch that fails leaves the cached keys in use', async () => {
  const { idp, find } = await identityProvider({ keys: [ec('a')] })
  await find('a')
  idp.answer = { status: 500 }
  expect((await faultOf(find('unknown'))).message).toContain('status 500')
  expect(kids(await find('a'))).toEqual(['a'])
  expect(await find('unknown')).toEqual([])
})

test('if new keys cannot be fetched, the cached keys are used for one more cache time and then refused', async () => {
  const { idp, clock, find } = await identityProvider({ keys: [ec('a')] })
  await find('a')
  idp.answer = { status: 503 }
  clock.advance(TTL)
  expect(kids(await find('a'))).toEqual(['a'])
  clock.advance(TTL - 1)
  expect(kids(await find('a'))).toEqual(['a'])
  clock.advance(1)
  expect((await faultOf(find('a'))).reason).toBe('bad_response')
})

test('a failed fetch is cached for 10 seconds, and then tried again', async () => {
  const { idp, clock, find, fetches } = await identityProvider({ status: 500 })
  const first = await faultOf(find('a'))
  idp.answer = { keys: [ec('a')] }
  clock.advance(9)
  expect(await faultOf(find('a'))).toBe(first)
  expect(fetches()).toBe(1)
  clock.advance(1)
  expect(kids(await find('a'))).toEqual(['a'])
})

test('a fetch that this service refused with 503 is not cached as a failure of the provider', async () => {
  const fetch = vi.fn().mockRejectedValueOnce(unavailable('full')).mockRejectedValueOnce(new Error('asked again'))
  const remote = createRemoteKeys({
    fetcher: { fetch },
    clock: testClock(),
    ttl: TTL,
    cooldown: COOLDOWN,
    allowHttp: true,
  })
  const find = () => remote.find('http://idp.test/', { alg: 'ES256' })
  await expect(find()).rejects.toThrow('full')
  await expect(find()).rejects.toThrow('asked again')
})

test('refresh() fetches at once, regardless of the cool-down, and returns the number of keys', async () => {
  const { idp, find, remote, fetches } = await identityProvider({ keys: [ec('a')] })
  await find('a')
  await find('unknown')
  idp.answer = { keys: [ec('b'), rsa('c')] }
  expect(await remote.refresh(idp.uri)).toBe(2)
  expect([kids(await find('b')), await find('a')]).toEqual([['b'], []])
  expect(fetches()).toBe(4)
})

test('a refresh() that fails leaves the cached keys in use', async () => {
  const { idp, find, remote } = await identityProvider({ keys: [ec('a')] })
  await find('a')
  idp.answer = { status: 500 }
  expect((await faultOf(remote.refresh(idp.uri))).reason).toBe('bad_response')
  expect(kids(await find('a'))).toEqual(['a'])
})

test('drop() removes a key set, also while it is being fetched', async () => {
  const { idp, find, remote, fetches } = await identityProvider({ keys: [ec('a')], delayMs: 30 })
  const early = find('a')
  remote.drop(idp.uri)
  expect(kids(await early)).toEqual(['a'])
  idp.answer = { keys: [ec('b')] }
  expect(await find('a')).toEqual([])
  expect(kids(await find('b'))).toEqual(['b'])
  expect(fetches()).toBe(2)
})

test.each<[string, Answer]>([
  ['an error status', { status: 404, keys: [ec('a')] }],
  ['a success status other than 200', { status: 203, keys: [ec('a')] }],
  ['a redirect', { status: 302, keys: [ec('a')] }],
  ['a page', { type: 'text/html', keys: [ec('a')] }],
  ['invalid JSON', { body: '{"keys":[' }],
  ['a JSON array', { body: '[]' }],
  ['no keys', { body: '{}' }],
  ['keys that are not a list', { body: '{"keys":{}}' }],
  ['101 keys', { keys: Array.from({ length: 101 }, (_, i) => ec(`${i}`)) }],
  ['more than 512 KiB', { keys: [ec('a', { x5c: ['x'.repeat(512 * 1024)] })] }],
])('a response with %s is refused as a key set', async (_, answer) => {
  const { find } = await identityProvider(answer)
  await faultOf(find('a'))
})

test('a key set with 100 keys is accepted', async () => {
  const { find } = await identityProvider({ keys: Array.from({ length: 100 }, (_, i) => ec(`${i}`)) })
  expect((await find()).length).toBe(100)
})

test.each<[string, unknown]>([
  ['for encryption', ec('a', { use: 'enc' })],
  ['with a use that is not a string', ec('a', { use: ['sig'] })],
  ['not for verification', ec('a', { key_ops: ['sign'] })],
  ['whose key_ops are not a list', ec('a', { key_ops: 'verify' })],
  ['that holds a private EC member', ec('a', { d: 'secret' })],
  ['that holds an empty private member', ec('a', { d: '' })],
  ['that holds private RSA members', rsa('a', { p: 'secret' })],
  ['that is a shared secret', { kty: 'oct', k: 'secret', kid: 'a' }],
  ['of an unknown type', { kty: 'AKP', alg: 'ML-DSA-44', pub: 'x', kid: 'a' }],
  ['of a type that is an object member', { kty: 'constructor', kid: 'a' }],
  ['without type', { crv: 'P-256', x: 'x', y: 'y', kid: 'a' }],
  ['with missing members', { kty: 'EC', crv: 'P-256', x: 'x', kid: 'a' }],
  ['with members that are not strings', ec('a', { x: 1 })],
  ['whose kid is not a string', ec(undefined, { kid: { a: 1 } })],
  ['whose alg is no text', ec('a', { alg: ['ES256'] })],
  ['that is null', null],
  ['that is a text', 'key'],
  ['that is a list', ['EC']],
])('a key %s is ignored, and the other keys are used', async (_, key) => {
  const { find, remote, idp } = await identityProvider({ keys: [key, ec('good')] })
  expect([kids(await find()), await find('x', 'RS256')]).toEqual([['good'], []])
  expect(await remote.refresh(idp.uri)).toBe(1)
})

test('a key matches an algorithm by its type, its curve and its own alg', async () => {
  const keys = [
    ...[ec('p256'), ec('p256-alg', { alg: 'ES256', use: 'sig' }), ec('p384', { crv: 'P-384' })],
    ...[rsa('rsa', { key_ops: ['verify'] }), rsa('rs', { alg: 'RS256' }), rsa('ps', { alg: 'PS256' })],
    ...[rsa('rs512', { alg: 'RS512' }), ec('mixed', { alg: 'RS256' })],
  ]
  const { find } = await identityProvider({ keys })
  expect(kids(await find(undefined, 'ES256'))).toEqual(['p256', 'p256-alg'])
  expect(kids(await find(undefined, 'RS256'))).toEqual(['rsa', 'rs'])
  expect(kids(await find(undefined, 'PS256'))).toEqual(['rsa', 'ps'])
  expect(await find('rsa', 'ES256')).toEqual([])
})

test('a key of a SPIFFE bundle is returned only for the verification of a JWT-SVID, and no other key is returned there', async () => {
  const bundle = [
    ec('svid', { use: 'jwt-svid' }),
    ec('x509', { use: 'x509-svid' }),
    ec('sig', { use: 'sig' }),
    ec('none'),
  ]
  const { find, remote, idp } = await identityProvider({ keys: bundle })
  expect(kids(await find())).toEqual(['sig', 'none'])
  expect(kids(await remote.find(idp.uri, { alg: 'ES256', use: 'jwt-svid' }))).toEqual(['svid'])
})

test('all keys with the same kid are returned; without a kid every matching key is returned', async () => {
  const { find } = await identityProvider({ keys: [ec('a'), ec('a', { x: 'other' }), rsa('a'), ec(undefined), ec('')] })
  expect((await find('a')).map(({ x }) => x)).toEqual(['x-a', 'other'])
  expect((await find('a', 'RS256')).length).toBe(1)
  expect((await find()).length).toBe(4)
  expect((await find('')).length).toBe(1)
})

test('only public members are stored', async () => {
  const { find } = await identityProvider({
    keys: [rsa('a', { x5c: ['x'], x5u: 'http://169.254.169.254/', other: {} })],
  })
  expect(await find('a', 'RS256')).toEqual([{ kty: 'RSA', n: 'n-a', e: 'AQAB', kid: 'a' }])
})

test('at most 200 key sets are cached', async () => {
  const { idp, remote, fetches } = await identityProvider({ keys: [ec('a')] })
  const find = (i: number) => remote.find(`${idp.uri}/${i}`, { alg: 'ES256' })
  for (let i = 0; i <= 200; i++) await find(i)
  await find(200)
  expect(fetches()).toBe(201)
  await find(0)
  expect(fetches()).toBe(202)
})

test('unknown members of keys are removed, so that a cached key set stays small, whatever its size on the wire', async () => {
  const huge = 'A'.repeat(4000)
  const keys = [
    rsa('n', { n: huge }),
    rsa('e', { e: huge }),
    ec('x', { x: huge }),
    ec('alg', { alg: huge }),
    ec(huge),
    ec('fine', { x5c: [huge], more: huge }),
  ]
  const { find } = await identityProvider({ keys })
  expect(await find()).toEqual([{ kty: 'EC', crv: 'P-256', x: 'x-fine', y: 'y', kid: 'fine' }])
  expect(await find(undefined, 'RS256')).toEqual([])
})
