// Logout tokens to applications (OpenID Connect Back-Channel Logout 1.0), from outside.
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { Browser } from '../support/browser.ts'
import { authorize, redeem } from '../support/flow.ts'
import { RECEIVERS_ALLOWED, TestReceiver } from '../support/receiver.ts'
import { addClient, addUser, startService, type TestService } from '../support/service.ts'

const DAY = 86_400
let service: TestService
beforeAll(async () => {
  service = await startService({ SERVICE_OAUTH_OPENID: 'true', ...RECEIVERS_ALLOWED })
})
afterAll(() => service.close())

async function application() {
  const receiver = await TestReceiver.start()
  const client = await addClient(service, { scope: 'openid', backchannel_logout_uri: receiver.url })
  return { receiver, client }
}
type Application = Awaited<ReturnType<typeof application>>

const signIn = async ({ client }: Application, user: Awaited<ReturnType<typeof addUser>>, browser = new Browser()) =>
  redeem(service, client, await authorize(service, client, user, { scope: 'openid' }, browser))
const signOut = (user: { id: string }) => okAdmin(service, 'DELETE', `/admin/users/${user.id}/tokens`)

async function tokensAt({ receiver, client }: Application, count: number) {
  const got = await receiver.arrived(count)
  const keys = createRemoteJWKSet(new URL(`${service.issuer}/.well-known/jwks.json`))
  const options = {
    issuer: service.issuer,
    audience: client.client_id,
    typ: 'logout+jwt',
    currentDate: new Date(service.app.clock.now() * 1000),
  }
  return Promise.all(
    got.map(
      async ({ text }) => (await jwtVerify(new URLSearchParams(text).get('logout_token') ?? '', keys, options)).payload,
    ),
  )
}
const waiting = async () =>
  (await service.app.store.listDueLogouts({ now: Number.MAX_SAFE_INTEGER, except: [], limit: 100 })).length

test('an application that does not answer delays no other one', async () => {
  const [hanging, app] = [await application(), await application()]
  hanging.receiver.answer = () => {}
  const users = await Promise.all(Array.from({ length: 6 }, () => addUser(service)))
  for (const user of users) await signIn(hanging, user)
  const user = await addUser(service)
  await signIn(app, user)
  await Promise.all(users.map(signOut))
  await signOut(user)
  const [claims] = await tokensAt(app, 1)
  expect(claims).toMatchObject({ sub: user.id, sid: expect.any(String), events: expect.any(Object) })
  expect(claims).not.toHaveProperty('nonce')
  expect(hanging.receiver.connections).toBeLessThanOrEqual(4)
  await okAdmin(service, 'PATCH', `/admin/clients/${hanging.client.client_id}`, { backchannel_logout_uri: null })
})

test('a logout is sent again for a day, each time with another token, and then given up', async () => {
  const app = await application()
  const user = await addUser(service)
  await signIn(app, user)
  app.receiver.next.push(500, 202, 500, 500)
  await signOut(user)
  await app.receiver.arrived(1)
  service.advance(3)
  const [first, second] = await tokensAt(app, 2)
  expect([second?.sid, second?.jti === first?.jti]).toEqual([first?.sid, false])
  service.advance(DAY + 60)
  await app.receiver.arrived(3)
  service.advance(DAY)
  await new Promise((resolve) => setTimeout(resolve, 600))
  expect(app.receiver.got).toHaveLength(3)
})

test('a person who signs in again in the same browser stays signed in to applications', async () => {
  const app = await application()
  const user = await addUser(service)
  const browser = new Browser()
  const { body } = await signIn(app, user, browser)
  await authorize(service, app.client, user, { scope: 'openid', prompt: 'login' }, browser)
  await new Promise((resolve) => setTimeout(resolve, 500))
  expect(app.receiver.got).toEqual([])
  await signOut(user)
  const claims = await tokensAt(app, 1)
  const { sid } = JSON.parse(Buffer.from(String(body['id_token']).split('.')[1] ?? '', 'base64url').toString())
  expect(claims.map((each) => each['sid'])).toContain(sid)
})

test('a logout is not sent to a client without a URI any more, and the URI is read strictly', async () => {
  const app = await application()
  const user = await addUser(service)
  await signIn(app, user)
  const path = `/admin/clients/${app.client.client_id}`
  const shown = await okAdmin<Record<string, unknown>>(service, 'PATCH', path, { backchannel_logout_uri: null })
  expect(shown).not.toHaveProperty('backchannel_logout_uri')
  await signOut(user)
  await expect.poll(waiting, { timeout: 15_000 }).toBe(0)
  expect(app.receiver.got).toEqual([])
})
