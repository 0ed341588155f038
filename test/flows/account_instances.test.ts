// The account page at two instances on one PostgreSQL: what ends at one instance has ended at the other.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { accountPage, allow, browserOf, IPHONE, isSignedIn, press } from '../support/account.ts'
import { Browser } from '../support/browser.ts'
import { introspect, isActive, refresh, signIn } from '../support/flow.ts'
import { type Pair, startPair } from '../support/pair.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { addUser, PASSWORD, type TestService } from '../support/service.ts'

let server: PostgresServer
let pair: Pair
let a: TestService
let b: TestService
beforeAll(async () => {
  server = await startPostgres()
  pair = await startPair(await server.migrated())
  ;({ a, b } = pair)
})
afterAll(async () => {
  await pair.close()
  await server.close()
})

/** A user with a browser at each instance: the issuer of both is that of the first. */
const scene = async () => {
  const user = await addUser(a)
  return { user, here: await browserOf(a, user.email), phone: await browserOf(b, user.email, IPHONE) }
}

test('an application that was removed at one instance has no access at the other, at once', async () => {
  const { user, here } = await scene()
  const { client, access_token, refresh_token } = await allow(a, user, here, 'Notes')
  expect(await isActive(b, client, access_token)).toBe(true)
  await press(a, here, 'Remove access of Notes')
  expect(await introspect(b, client, access_token)).toEqual({ active: false })
  expect((await refresh(b, client, refresh_token)).body['error']).toBe('invalid_grant')
})

test('a sign-in that was ended at one instance has ended at the other, at once', async () => {
  const { here, phone } = await scene()
  expect((await accountPage(a, here)).text).toContain('Safari on iPhone')
  expect(await isSignedIn(b, phone)).toBe(true)
  await press(a, here, 'Sign out: Safari on iPhone')
  expect([await isSignedIn(b, phone), await isSignedIn(b, here)]).toEqual([false, true])
})

test('all other sign-ins and the old password end at both instances, at once', async () => {
  const { user, here, phone } = await scene()
  const next = 'an entirely new passphrase'
  await press(b, here, 'current_password', {
    current_password: PASSWORD,
    new_password: next,
    new_password_again: next,
  })
  expect([await isSignedIn(a, phone), await isSignedIn(a, here)]).toEqual([false, true])
  const attempt = async (at: TestService, password: string) => {
    const browser = new Browser()
    return (await signIn(at, browser, await browser.open(`${at.issuer}/login`), user.email, password)).status
  }
  expect([await attempt(a, PASSWORD), await attempt(a, next), await attempt(b, PASSWORD)]).toEqual([422, 303, 422])
})

test('of two instances that change the password at the same time, one does', async () => {
  const { user, here, phone } = await scene()
  const change = (at: TestService, browser: Browser, next: string) =>
    press(at, browser, 'current_password', {
      current_password: PASSWORD,
      new_password: next,
      new_password_again: next,
    })
  const answers = await Promise.all([change(a, here, 'first new password'), change(b, phone, 'second new password')])
  const done = answers.filter(({ location }) => location?.includes('done=password'))
  expect(done).toHaveLength(1)
  expect((await a.app.store.listSessions({ user_id: user.id, now: a.app.clock.now() })).length).toBe(1)
})
