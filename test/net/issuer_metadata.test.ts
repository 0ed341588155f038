// The metadata of other issuers: where it is fetched, and what is not believed.
import { expect, test } from 'vitest'
import { createIssuerMetadata } from '../../src/net/issuer_metadata.ts'
import { testClock } from '../support/clock.ts'
import { faultOf, localFetcher, servePeer } from './peers.ts'

const TTL = 3600

/** An issuer with changeable metadata, and the cache that fetches it. */
async function anIssuer({ path = '', type = 'application/json' } = {}) {
  const state = { status: 200, metadata: {} as unknown }
  const peer = await servePeer((_, response) =>
    response.writeHead(state.status, { 'content-type': type }).end(JSON.stringify(state.metadata)),
  )
  const issuer = `${peer.url}${path}`
  state.metadata = { issuer, jwks_uri: `${peer.url}/keys` }
  const clock = testClock()
  const options = { fetcher: localFetcher(), clock, ttl: TTL, allowHttp: true }
  const { jwksUri } = createIssuerMetadata(options)
  return { state, peer, issuer, clock, options, find: () => jwksUri(issuer) }
}

test('the metadata is fetched once from its path below the issuer, and again after its cache time', async () => {
  const { peer, clock, find } = await anIssuer({ path: '/tenant' })
  expect(await Promise.all([find(), find()])).toEqual([`${peer.url}/keys`, `${peer.url}/keys`])
  clock.advance(TTL - 1)
  await find()
  expect(peer.asked).toEqual(['/tenant/.well-known/openid-configuration'])
  clock.advance(1)
  await find()
  expect(peer.asked.length).toBe(2)
})

test('the metadata of an issuer that ends in a slash is at the same path (Discovery §4.1)', async () => {
  const { peer, find } = await anIssuer({ path: '/tenant/' })
  await find()
  expect(peer.asked).toEqual(['/tenant/.well-known/openid-configuration'])
})

test('cached metadata is used during an outage for one more cache time', async () => {
  const { state, peer, clock, find } = await anIssuer()
  await find()
  state.status = 503
  clock.advance(2 * TTL - 1)
  expect(await find()).toBe(`${peer.url}/keys`)
  clock.advance(1)
  expect((await faultOf(find())).message).toContain('status 503')
})

test.each<[string, (issuer: string) => unknown]>([
  ['another issuer', (issuer) => ({ issuer: 'https://other.example', jwks_uri: `${issuer}/keys` })],
  ['the issuer with a slash more', (issuer) => ({ issuer: `${issuer}/`, jwks_uri: `${issuer}/keys` })],
  ['no issuer', (issuer) => ({ jwks_uri: `${issuer}/keys` })],
  ['no jwks_uri', (issuer) => ({ issuer })],
  ['a jwks_uri that is no URL', (issuer) => ({ issuer, jwks_uri: 'file:///etc/passwd' })],
  ['no JSON object', () => ['issuer']],
  ['more than 128 KiB', (issuer) => ({ issuer, jwks_uri: `${issuer}/keys`, more: 'x'.repeat(128 * 1024) })],
])('metadata with %s is refused', async (_, metadata) => {
  const { state, issuer, find } = await anIssuer()
  state.metadata = metadata(issuer)
  expect((await faultOf(find())).reason).toMatch(/^(bad_document|too_large)$/)
})

test('a redirect and plain http are refused', async () => {
  const { state, issuer, options, find } = await anIssuer()
  state.status = 302
  expect((await faultOf(find())).reason).toBe('redirect')
  const strict = createIssuerMetadata({ ...options, allowHttp: false })
  expect((await faultOf(strict.jwksUri(issuer))).reason).toBe('bad_url')
})
