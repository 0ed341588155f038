// Back-channel logout: an upstream OpenID provider ends the sessions of a user (OpenID Connect Back-Channel Logout 1.0).
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { connect } from '../../src/broker/connection.ts'
import { newId } from '../../src/lib/id.ts'
import { SYSTEM } from '../../src/oauth/audit.ts'
import { eventsOf, metricOf } from '../support/admin.ts'
import { addProvider } from '../support/broker.ts'
import { Browser } from '../support/browser.ts'
import { FederatedBrowser } from '../support/federated_browser.ts'
import { authorize, redeem, refresh } from '../support/flow.ts'
import { idpKey, signed } from '../support/idp.ts'
import {
  CLIENT_ID,
  type FakeProvider,
  federating,
  isSignedIn,
  openFederation,
  signInAt,
  subjectOf,
} from '../support/openid_fake.ts'
import { RealProvider } from '../support/openid_provider.ts'
import { addClient, addResource, SEALED, startService, type TestService } from '../support/service.ts'

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
type Claims = Record<string, unknown>

let service: TestService
let fake: FakeProvider
beforeAll(async () => {
  ;({ service, fake } = await openFederation())
})
afterAll(() => service.close())

let count = 0
beforeEach(() => {
  fake.person = { sub: `up-person${++count}`, sid: `session-${count}` }
})

const claimsOf = (changes: Claims = {}) => {
  const iat = service.app.clock.now()
  const { sub, sid } = fake.person
  return {
    ...{ iss: fake.idp.issuer, aud: CLIENT_ID, iat, exp: iat + 120, jti: newId(), events: { [EVENT]: {} }, sub, sid },
    ...changes,
  }
}
const send = async (logout_token: string, at = service): Promise<{ status: number; body: string }> => {
  const response = await fetch(`${at.issuer}/oidc/backchannel-logout`, {
    method: 'POST',
    body: new URLSearchParams({ logout_token }),
  })
  return { status: response.status, body: await response.text() }
}
const tokenOf = (changes?: Claims, header: Claims = {}, key = fake.idp.key) =>
  signed(key, { kid: key.kid, typ: 'logout+jwt', ...header }, claimsOf(changes))
const logOut = async (changes?: Claims) => (await send(await tokenOf(changes))).status

const signedIn = async (sid = fake.person['sid']) => {
  const browser = new Browser()
  fake.person = { ...fake.person, sid }
  await signInAt(service, fake, browser)
  expect(await isSignedIn(service, browser)).toBe(true)
  return browser
}
const states = (...browsers: Browser[]) => Promise.all(browsers.map((each) => isSignedIn(service, each)))

describe('a logout token ends', () => {
  test('a logout token with a session ends that session, and no other session of the user', async () => {
    const [laptop, phone] = [await signedIn('laptop'), await signedIn('phone')]
    expect(await logOut({ sid: 'laptop' })).toBe(200)
    expect(await states(laptop, phone)).toEqual([false, true])
  })

  test('a logout token with a session and no subject ends that session', async () => {
    const [laptop, phone] = [await signedIn('laptop-2'), await signedIn('phone-2')]
    expect(await logOut({ sid: 'laptop-2', sub: undefined })).toBe(200)
    expect(await states(laptop, phone)).toEqual([false, true])
  })

  test('a logout token without a session ends every session of the subject', async () => {
    const [laptop, phone] = [await signedIn('a'), await signedIn('b')]
    expect(await logOut({ sid: undefined })).toBe(200)
    expect(await states(laptop, phone)).toEqual([false, false])
  })

  test('a logout token ends sessions of the subject whose provider session is unknown', async () => {
    fake.person = { sub: fake.person['sub'] }
    const browser = await signedIn()
    expect(await logOut({ sid: 'unknown' })).toBe(200)
    expect(await states(browser)).toEqual([false])
  })

  test('a logout token ends no session of another subject, whatever session it names', async () => {
    const browser = await signedIn('of-ada')
    expect(await logOut({ sub: 'up-mallory', sid: 'of-ada' })).toBe(200)
    expect(await states(browser)).toEqual([true])
  })

  test('a logout writes an event with the subject and the numbers of ended sessions', async () => {
    const browser = await signedIn()
    expect(await logOut()).toBe(200)
    const [event] = await eventsOf(service, 'user_backchannel_logout')
    expect(event?.detail).toEqual({
      provider: 'default',
      federated_subject: fake.person['sub'],
      sessions: 1,
      families: 0,
      connections: 0,
    })
    expect(await states(browser)).toEqual([false])
  })
})

describe('refused logout tokens end no session', () => {
  test.each<[string, Claims, string]>([
    ['of another issuer', { iss: 'https://other.example.com' }, 'iss'],
    ['for another client', { aud: 'another' }, 'aud'],
    ['without an audience', { aud: undefined }, 'aud'],
    ['that has expired', { exp: 1 }, 'exp'],
    ['without an end', { exp: undefined }, 'exp'],
    ['without a beginning', { iat: undefined }, 'iat'],
    ['of the future', { iat: Math.floor(Date.now() / 1000) + 600 }, 'iat'],
    ['of two days ago', { iat: Math.floor(Date.now() / 1000) - 2 * 86_400 }, 'iat'],
    ['without events', { events: undefined }, 'events'],
    ['with another event', { events: { 'http://schemas.openid.net/event/other': {} } }, 'events'],
    ['with an event that is no object', { events: { [EVENT]: true } }, 'events'],
    ['with a nonce', { nonce: 'n' }, 'nonce'],
    ['without an id', { jti: undefined }, 'jti'],
    ['without subject and session', { sub: undefined, sid: undefined }, 'no_subject'],
    ['with a subject that is no text', { sub: 7 }, 'sub'],
    ['with a session that is no text', { sid: {} }, 'sid'],
  ])('%s', async (_, changes, reason) => {
    const browser = await signedIn()
    const series = `ext_refusals_total{error="invalid_request",reason="logout_${reason}"}`
    const before = await metricOf(service, series)
    expect(await logOut(changes)).toBe(400)
    expect(await states(browser)).toEqual([true])
    expect((await metricOf(service, series)) - before).toBe(1)
  })

  test('a logout token that is signed with an unpublished key, unsigned, or of another typ is refused', async () => {
    const browser = await signedIn()
    const other = await idpKey('RS256')
    for (const text of [
      await tokenOf({}, {}, other),
      await tokenOf({}, {}, { ...other, kid: fake.idp.key.kid }),
      await tokenOf({}, { typ: 'at+jwt' }),
      (await tokenOf()).replace(/\.[^.]*$/, '.'),
      'no token',
    ])
      expect((await send(text)).status, text).toBe(400)
    expect(await states(browser)).toEqual([true])
  })

  test('T08: a repeated logout token is refused', async () => {
    const text = await tokenOf()
    expect([(await send(text)).status, (await send(text)).status]).toEqual([200, 400])
  })

  test('T08: of twenty concurrent copies all but one are refused', async () => {
    const text = await tokenOf()
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(text)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  })

  test('T08: an ID token of the provider is refused as a logout token', async () => {
    const { events: _, ...claims } = claimsOf()
    const text = await signed(fake.idp.key, { kid: fake.idp.key.kid }, { ...claims, nonce: fake.nonce })
    expect((await send(text)).status).toBe(400)
  })

  test('a logout token at the path of an unknown provider is refused', async () => {
    const body = new URLSearchParams({ logout_token: await tokenOf() })
    for (const slug of ['default', 'nobody'])
      expect((await fetch(`${service.issuer}/oidc/backchannel-logout/${slug}`, { method: 'POST', body })).status).toBe(
        404,
      )
  })
})

describe('refresh tokens and connections of the user', () => {
  test.each([true, false])('end with logout_ends_grants, and stay without it: %s', async (ends) => {
    const { service, fake } = await openFederation({ SERVICE_OIDC_LOGOUT_ENDS_GRANTS: String(ends), ...SEALED })
    const [browser, client, resource] = [new Browser(), await addClient(service), await addResource(service)]
    fake.person = { sub: 'up-leaver', sid: 'leaving' }
    await signInAt(service, fake, browser)
    const authorized = await authorize(service, client, {}, { resource: resource.uri }, browser)
    const { body } = await redeem(service, client, authorized)
    const user_id = subjectOf(body['access_token'])
    const provider = await addProvider(service)
    const credential = { tokens: [], refresh_token: 'up-refresh' }
    await connect(service.app, provider, { user_id, credential, granted: [] }, SYSTEM)
    const { key } = fake.idp
    const text = await signed(key, { kid: key.kid }, { ...claimsOf(), iss: fake.idp.issuer, ...fake.person })
    expect((await send(text, service)).status).toBe(200)
    const [event] = await eventsOf(service, 'user_backchannel_logout')
    expect(event?.detail).toMatchObject({ sessions: 1, families: ends ? 1 : 0, connections: ends ? 1 : 0 })
    const { status } = await refresh(service, client, body['refresh_token'])
    expect(status).toBe(ends ? 400 : 200)
    const [grant] = await service.app.store.listBrokerGrants({ user_id })
    expect(grant?.revoked_at !== undefined).toBe(ends)
    await service.close()
  })
})

test('a logout token with only the session of a sign-in that has ended here ends the refresh tokens that were granted in it', async () => {
  const { service, fake } = await openFederation({ SERVICE_OIDC_LOGOUT_ENDS_GRANTS: 'true' })
  const [browser, client, resource] = [new Browser(), await addClient(service), await addResource(service)]
  fake.person = { sub: 'up-absent', sid: 'ended-here' }
  await signInAt(service, fake, browser)
  const authorized = await authorize(service, client, {}, { resource: resource.uri }, browser)
  const { body } = await redeem(service, client, authorized)
  const [session] = await service.app.store.listSessions({ user_id: subjectOf(body['access_token']), now: 0 })
  await service.app.store.deleteSession({ id: session?.id ?? '' })
  const { key } = fake.idp
  const named = { iss: fake.idp.issuer, sub: undefined, sid: 'ended-here' }
  expect((await send(await signed(key, { kid: key.kid }, claimsOf(named)), service)).status).toBe(200)
  const [event] = await eventsOf(service, 'user_backchannel_logout')
  expect(event?.detail).toMatchObject({ sessions: 0, families: 1 })
  expect((await refresh(service, client, body['refresh_token'])).status).toBe(400)
  await service.close()
})

test('logout tokens with unknown keys cause one request to the provider in half a minute, and the rate limit of their address applies', async () => {
  const alone = await openFederation()
  const key = await idpKey('RS256')
  const text = () => signed(key, { kid: newId() }, { ...claimsOf(), iss: alone.fake.idp.issuer })
  const before = alone.fake.idp.fetches
  const statuses: number[] = []
  for (let i = 0; i < 65; i++) statuses.push((await send(await text(), alone.service)).status)
  expect(alone.fake.idp.fetches - before).toBeLessThanOrEqual(2)
  expect(new Set(statuses)).toEqual(new Set([400, 429]))
  await alone.service.close()
})

test('a logout token of oidc-provider ends the session of the browser that signed in at it', async () => {
  const op = await RealProvider.listen()
  const real = await startService(federating(op.issuer))
  op.open(real)
  const [browser, other] = [new FederatedBrowser(real, op), new FederatedBrowser(real, op)]
  for (const each of [browser, other]) await each.signInAt('Corporate SSO')
  await op.logOut(op.sids[0])
  expect([await isSignedIn(real, browser), await isSignedIn(real, other)]).toEqual([false, true])
  await real.close()
  op.close()
})
