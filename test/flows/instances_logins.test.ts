// Failed logins of an account at two instances on one PostgreSQL.
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { Browser } from '../support/browser.ts'
import { signIn } from '../support/flow.ts'
import { type Pair, startPair } from '../support/pair.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { addUser, PASSWORD, type TestService } from '../support/service.ts'

let server: PostgresServer
let pair: Pair
beforeAll(async () => {
  server = await startPostgres()
  pair = await startPair(await server.migrated(), {
    SERVICE_RATE_LIMIT_AUTH_FAIL_MAX: '4',
    SERVICE_RATE_LIMIT_ACCOUNT_FAIL_MAX: '3',
  })
})
afterAll(async () => {
  await pair.close()
  await server.close()
})

const attempt = async (at: TestService, email: string, password: string) => {
  const browser = new Browser()
  return (await signIn(at, browser, await browser.follow(`${at.issuer}/login`), email, password)).status
}

test('failures at both instances count together, logins wait at both, and an operator ends it for both', async () => {
  const { a, b } = pair
  const user = await addUser(a)
  const rooms = [a, b].map(({ app }) => vi.spyOn(app.waitingRoom, 'enter').mockResolvedValue(0))
  const entered = () => rooms.map((room) => room.mock.calls.length)
  expect([await attempt(a, user.email, 'x'), await attempt(b, user.email, 'x')]).toEqual([422, 422])
  expect(await attempt(a, user.email, 'x')).toBe(422)
  expect(entered()).toEqual([0, 0])
  expect([await attempt(a, user.email, PASSWORD), await attempt(b, user.email, PASSWORD)]).toEqual([303, 303])
  expect(entered()).toEqual([1, 1])
  const [lockout] = await okAdmin<{ id: string; user_id: string }[]>(b, 'GET', '/admin/lockouts')
  expect(lockout?.user_id).toBe(user.id)
  expect((await callAdmin(b, 'DELETE', `/admin/lockouts/${lockout?.id}`)).status).toBe(204)
  expect([await attempt(a, user.email, PASSWORD), await attempt(b, user.email, PASSWORD)]).toEqual([303, 303])
  expect(entered()).toEqual([1, 1])
})

test('the lockout of an address ends at both instances when an operator ends it at one', async () => {
  const { a, b } = pair
  const user = await addUser(a)
  for (let i = 0; i < 4; i++) await attempt(a, `someone-else-${i}@example.com`, 'x')
  expect([await attempt(a, user.email, PASSWORD), await attempt(b, user.email, PASSWORD)]).toEqual([429, 429])
  const [lockout] = await okAdmin<{ id: string; address?: string }[]>(b, 'GET', '/admin/lockouts')
  expect(lockout?.address).toBeDefined()
  expect((await callAdmin(b, 'DELETE', `/admin/lockouts/${lockout?.id}`)).status).toBe(204)
  expect([await attempt(a, user.email, PASSWORD), await attempt(b, user.email, PASSWORD)]).toEqual([303, 303])
})
