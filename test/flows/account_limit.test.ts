// Logins to an account that is under attack: they wait, and no user is locked out by the failures of others.
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { callAdmin, eventsOf, metricOf, okAdmin } from '../support/admin.ts'
import { Browser } from '../support/browser.ts'
import { signIn } from '../support/flow.ts'
import { addUser, PASSWORD, startService, type TestService } from '../support/service.ts'

const MAX = 3
let service: TestService
beforeAll(async () => {
  service = await startService({
    SERVICE_RATE_LIMIT_AUTH_FAIL_MAX: '0',
    SERVICE_RATE_LIMIT_ACCOUNT_FAIL_MAX: String(MAX),
  })
})
afterAll(() => service.close())
afterEach(() => {
  vi.restoreAllMocks()
})

const attempt = async (email: string, password: string, at = service) => {
  const browser = new Browser()
  return signIn(at, browser, await browser.open(`${at.issuer}/login`), email, password)
}
const failOften = async (email: string) => {
  for (let i = 0; i < MAX; i++) expect((await attempt(email, 'wrong')).status).toBe(422)
}
/** The keys of the requests that enter the waiting room. They go on at once, or are refused for some seconds. */
const watchRoom = (seconds = 0) => {
  const enter = vi.spyOn(service.app.waitingRoom, 'enter').mockResolvedValue(seconds)
  return () => enter.mock.calls.map(([key]) => key)
}

interface Lockout {
  id: string
  address?: string
  user_id?: string
  email?: string
  failures: number
}
const lockouts = (at = service) => okAdmin<Lockout[]>(at, 'GET', '/admin/lockouts')
const lockoutOf = async ({ id }: { id: string }) => (await lockouts()).find(({ user_id }) => user_id === id)

test('past account_fail_max failures each login to the account waits, and the right password still works', async () => {
  const user = await addUser(service)
  const entered = watchRoom()
  await failOften(user.email)
  expect(entered()).toEqual([])
  const delayed = await metricOf(service, 'ext_logins_delayed_total')
  expect((await attempt(user.email, 'wrong')).status).toBe(422)
  expect((await attempt(` ${user.email.toUpperCase()} `, PASSWORD)).status).toBe(303)
  expect(new Set(entered()).size).toBe(1)
  expect(entered().length).toBe(2)
  expect(await metricOf(service, 'ext_logins_delayed_total')).toBe(delayed + 2)
})

test('both forms of an internationalised domain count for one account', async () => {
  const user = await addUser(service, { email: 'josé@bücher.example' })
  const entered = watchRoom()
  await failOften('JOSÉ@xn--bcher-kva.example')
  expect((await attempt(user.email, PASSWORD)).status).toBe(303)
  expect(entered().length).toBe(1)
})

test('the wait is real: the answer comes when the room lets the login continue', async () => {
  const user = await addUser(service)
  await failOften(user.email)
  let letGo: (seconds: number) => void = () => {}
  const waits = new Promise<number>((resolve) => {
    letGo = resolve
  })
  const enter = vi.spyOn(service.app.waitingRoom, 'enter').mockReturnValue(waits)
  const verify = vi.spyOn(service.app.crypto, 'verifyPassword')
  const answer = attempt(user.email, PASSWORD)
  await vi.waitFor(() => expect(enter).toHaveBeenCalled())
  expect(verify).not.toHaveBeenCalled()
  letGo(0)
  expect((await answer).status).toBe(303)
})

test('when too many logins of the address wait already, the login is answered 429 with Retry-After and is not verified', async () => {
  const user = await addUser(service)
  await failOften(user.email)
  watchRoom(5)
  const verify = vi.spyOn(service.app.crypto, 'verifyPassword')
  const answer = await attempt(user.email, PASSWORD)
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '5'])
  expect(verify).not.toHaveBeenCalled()
})

test('U61 an email without an account gets the same answers, waits and records as an account', async () => {
  const user = await addUser(service)
  const seen = async (email: string) => {
    const entered = watchRoom()
    const writes = vi.spyOn(service.app.store, 'addLoginFailure')
    const audits = vi.spyOn(service.app.store, 'recordAudit')
    const answers = []
    for (let i = 0; i < MAX + 2; i++) {
      const { status, text } = await attempt(email, 'wrong')
      answers.push([status, /role="alert"[^>]*>([^<]+)/.exec(text)?.[1]])
    }
    const work = [entered().length, writes.mock.calls.length, audits.mock.calls.map(([{ action }]) => action)]
    vi.restoreAllMocks()
    return { answers, work }
  }
  const known = await seen(user.email)
  expect(await seen('nobody-has-this@example.com')).toEqual(known)
  expect(known.work).toEqual([
    2,
    // Of the account, and of the address at the account.
    2 * (MAX + 2),
    [...Array(MAX).fill('user_login_failed'), 'account_throttled', ...Array(2).fill('user_login_failed')],
  ])
})

test('a wait ends an hour after the last failure', async () => {
  const user = await addUser(service)
  await failOften(user.email)
  service.advance(3590)
  const entered = watchRoom()
  await attempt(user.email, PASSWORD)
  expect(entered().length).toBe(1)
  service.advance(11)
  await attempt(user.email, PASSWORD)
  expect(entered().length).toBe(1)
})

test('a failed login names the user of the account, and never what was typed', async () => {
  const user = await addUser(service)
  await attempt(user.email, 'wrong')
  await attempt('hunter2-typed-into-the-email', 'wrong')
  const [unknown, known] = await eventsOf(service, 'user_login_failed')
  expect([known?.actor_id, known?.detail]).toEqual(['', { user_id: user.id }])
  expect([unknown?.actor_id, unknown?.detail]).toEqual(['', {}])
  const rows = JSON.stringify(await okAdmin(service, 'GET', '/admin/audit?limit=1000'))
  expect(rows).not.toContain('hunter2')
})

test('operators see the account that is attacked and end it', async () => {
  const user = await addUser(service)
  await failOften(user.email)
  const found = await lockoutOf(user)
  expect(found).toMatchObject({ email: user.email, failures: MAX })
  expect(found).not.toHaveProperty('address')
  expect((await eventsOf(service, 'account_throttled'))[0]?.detail).toEqual({ user_id: user.id })
  expect((await callAdmin(service, 'DELETE', `/admin/lockouts/${found?.id}`)).status).toBe(204)
  expect(await lockoutOf(user)).toBeUndefined()
  expect((await eventsOf(service, 'lockout_deleted'))[0]?.detail).toEqual({ user_id: user.id })
  expect((await callAdmin(service, 'DELETE', `/admin/lockouts/${found?.id}`)).status).toBe(404)
  const entered = watchRoom()
  expect((await attempt(user.email, PASSWORD)).status).toBe(303)
  expect(entered()).toEqual([])
})

test('operators see an address that is locked out and end it', async () => {
  const locked = await startService({ SERVICE_RATE_LIMIT_AUTH_FAIL_MAX: '2' })
  try {
    const user = await addUser(locked)
    for (let i = 0; i < 2; i++) await attempt(user.email, 'wrong', locked)
    expect((await attempt(user.email, PASSWORD, locked)).status).toBe(429)
    const [lockout, ...others] = await lockouts(locked)
    expect(others).toEqual([])
    expect(lockout?.address).toMatch(/^(127\.0\.0\.1|0:0:0:0::\/64)$/)
    expect(await metricOf(locked, 'ext_lockouts')).toBe(1)
    expect(await okAdmin(locked, 'GET', '/admin/system/status')).toMatchObject({ lockouts: 1 })
    expect((await callAdmin(locked, 'DELETE', `/admin/lockouts/${lockout?.id}`)).status).toBe(204)
    expect(await lockouts(locked)).toEqual([])
    expect((await attempt(user.email, PASSWORD, locked)).status).toBe(303)
  } finally {
    await locked.close()
  }
})

test('account_fail_max 0 disables the wait', async () => {
  const open = await startService({ SERVICE_RATE_LIMIT_AUTH_FAIL_MAX: '0', SERVICE_RATE_LIMIT_ACCOUNT_FAIL_MAX: '0' })
  try {
    const user = await addUser(open)
    const enter = vi.spyOn(open.app.waitingRoom, 'enter')
    for (let i = 0; i < 5; i++) expect((await attempt(user.email, 'wrong', open)).status).toBe(422)
    expect(enter).not.toHaveBeenCalled()
    expect(await lockouts(open)).toEqual([])
  } finally {
    await open.close()
  }
})
