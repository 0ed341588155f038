// The sign-ins of a user, as operators list and end them.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { browserOf, IPHONE, isSignedIn } from '../support/account.ts'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { envOf, runHere } from '../support/cli.ts'
import { authorize, redeem, refresh } from '../support/flow.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

interface Shown {
  id: string
  browser?: string
  system?: string
}
const pathOf = ({ id }: { id: string }) => `/admin/users/${id}/sessions`
const list = (user: { id: string }) => okAdmin<Shown[]>(service, 'GET', pathOf(user))
const end = (user: { id: string }, id: string) => callAdmin(service, 'DELETE', `${pathOf(user)}/${id}`)

/** A user who is signed in in two browsers. */
async function signedInTwice() {
  const user = await addUser(service)
  const laptop = await browserOf(service, user.email)
  const phone = await browserOf(service, user.email, IPHONE)
  return { user, laptop, phone, live: () => Promise.all([laptop, phone].map((each) => isSignedIn(service, each))) }
}

test('the sign-ins of a user are listed, the newest first, with device, address and times', async () => {
  const { user } = await signedInTwice()
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+Z$/)
  const common = { id: expect.any(String), address: expect.stringMatching(/^(127\.0\.0\.1|::1)$/), created_at: time }
  expect(await list(user)).toEqual([
    { ...common, browser: 'Safari', system: 'iPhone', user_agent: IPHONE, last_used_at: time, expires_at: time },
    {
      ...common,
      browser: 'Firefox',
      system: 'Linux',
      user_agent: expect.any(String),
      last_used_at: time,
      expires_at: time,
    },
  ])
  expect(await list(await addUser(service))).toEqual([])
})

test('an operator ends one sign-in at once, and only that one; applications keep their access', async () => {
  const { user, phone, live } = await signedInTwice()
  const [client, resource] = [await addClient(service), await addResource(service)]
  const redeemed = await redeem(
    service,
    client,
    await authorize(service, client, user, { resource: resource.uri }, phone),
  )
  const code = await authorize(service, client, user, { resource: resource.uri }, phone)
  const [first] = await list(user)
  expect((await end(user, first?.id ?? '')).status).toBe(204)
  expect(await live()).toEqual([true, false])
  expect((await list(user)).map(({ system }) => system)).toEqual(['Linux'])
  expect((await redeem(service, client, code)).body['error']).toBe('invalid_grant')
  expect((await refresh(service, client, redeemed.body['refresh_token'])).status).toBe(200)
  const [event] = await eventsOf(service, 'user_sessions_ended')
  expect(event).toMatchObject({ actor_id: expect.stringMatching(/^admin/), detail: { user_id: user.id, sessions: 1 } })
})

test('a session of another user, one that has ended, a malformed id and an unknown user are 404, and end nothing', async () => {
  const [one, other] = [await signedInTwice(), await signedInTwice()]
  const [theirs] = await list(other.user)
  const before = (await eventsOf(service, 'user_sessions_ended')).length
  for (const id of [theirs?.id ?? '', newId(), 'x']) expect((await end(one.user, id)).status).toBe(404)
  expect((await end({ id: 'nobody' }, theirs?.id ?? '')).status).toBe(404)
  expect((await callAdmin(service, 'GET', pathOf({ id: 'nobody' }))).status).toBe(404)
  expect([await one.live(), await other.live()]).toEqual([
    [true, true],
    [true, true],
  ])
  expect((await eventsOf(service, 'user_sessions_ended')).length).toBe(before)
})

test('admin user session list and end do the same', async () => {
  const { user, live } = await signedInTwice()
  const command = async (...words: string[]) => {
    const { code, stdout } = await runHere(['admin', 'user', 'session', ...words, '--id', user.id], envOf(service))
    expect(code).toBe(0)
    return stdout
  }
  const [, last] = JSON.parse(await command('list', '--json')) as Shown[]
  await command('end', '--session-id', last?.id ?? '')
  expect(await live()).toEqual([false, true])
})
