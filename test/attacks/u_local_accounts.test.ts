// Section U of the attack list, local accounts. One test per row, named by its id. U61: test/flows/account_limit.test.ts, U62: test/http/waiting_room.test.ts.
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { isSignedIn, userWith } from '../support/account.ts'
import { metricOf, okAdmin } from '../support/admin.ts'
import { Browser, fieldsOf } from '../support/browser.ts'
import { refresh } from '../support/flow.ts'
import { addUser, PASSWORD, startService, type TestService } from '../support/service.ts'

const MAX = 4
let service: TestService
beforeAll(async () => {
  service = await startService({
    SERVICE_SERVER_TRUSTED_PROXIES: '127.0.0.1,::1',
    SERVICE_RATE_LIMIT_ACCOUNT_FAIL_MAX: String(MAX),
  })
})
afterAll(() => service.close())
afterEach(() => {
  vi.restoreAllMocks()
})

/** A login behind the proxy, from an address. */
const attempt = async (address: string, email: string, password: string) => {
  const browser = new Browser()
  const page = await browser.open(`${service.issuer}/login`)
  const fields = { ...Object.fromEntries(fieldsOf(page)), email, password }
  return (await browser.post(`${service.issuer}/login`, fields, { 'x-forwarded-for': address })).status
}
/** Fails logins to the account of a user. */
const failures = (email: string, count: number, address = (i: number) => `203.0.113.${i % 100}`) =>
  Promise.all(Array.from({ length: count }, (_, i) => attempt(address(i), email, 'wrong')))

test('U73 failures with many texts for one domain count for one account, or for none', async () => {
  const domain = `b${Date.now()}.example`
  const user = await addUser(service, { email: `ada@${domain}` })
  const [label = '', rest = ''] = domain.split('.')
  const texts = [
    `xn--${label}-.${rest}`,
    `${label}.xn--${rest}-`,
    `xn--${label}-.xn--${rest}-`,
    `XN--${label}-.${rest}`,
  ]
  for (const text of texts) expect(await attempt('192.0.2.9', `ada@${text}`, PASSWORD), text).toBe(422)
  expect(await attempt('192.0.2.9', user.email, PASSWORD)).toBe(303)
  const { email } = await addUser(service, { email: `ada@m\u00fcnchen.${domain}` })
  const same = ['XN--Mnchen-3YA', 'mu\u0308nchen', 'M\u00dcNCHEN', 'm\u00ad\u00fcnchen']
  for (const text of same) expect(await attempt('192.0.2.10', `ada@${text}.${domain}`, 'wrong'), text).toBe(422)
  const delayed = await metricOf(service, 'ext_logins_delayed_total')
  expect(await attempt('192.0.2.11', email, PASSWORD)).toBe(303)
  expect(await metricOf(service, 'ext_logins_delayed_total')).toBe(delayed + 1)
})

test('U60 failures from many addresses do not lock the user out: the right password works from another address', async () => {
  const user = await addUser(service)
  for (let i = 0; i < MAX; i++) expect(await attempt(`198.51.100.${i}`, user.email, 'wrong')).toBe(422)
  const attackers = Array.from({ length: 40 }, (_, i) => attempt(`203.0.113.${i}`, user.email, 'wrong'))
  expect(await attempt('192.0.2.1', user.email, PASSWORD)).toBe(303)
  expect(new Set(await Promise.all(attackers))).toEqual(new Set([422]))
})

test('U68 however many failures an account has, a login with the right password waits one turn of its own address and succeeds', async () => {
  const user = await addUser(service)
  const enter = vi.spyOn(service.app.waitingRoom, 'enter').mockResolvedValue(0)
  const keysOf = async (work: Promise<unknown>) => {
    enter.mockClear()
    await work
    return new Set(enter.mock.calls.map(([key]) => key))
  }
  await failures(user.email, MAX)
  const attackers = await keysOf(failures(user.email, 20))
  for (const address of ['192.0.2.1', '192.0.2.2', '2001:db8:1::1']) {
    // The turn of the user is that of no attacker, so that attackers cannot make it later.
    const [own, ...others] = await keysOf(attempt(address, user.email, PASSWORD))
    expect([others, attackers.has(own ?? '')]).toEqual([[], false])
    expect(await attempt(address, user.email, PASSWORD)).toBe(303)
  }
  const [lockout] = await service.app.store.listLockouts({ now: service.app.clock.now(), limit: 10, offset: 0 })
  expect(lockout).toMatchObject({ user_id: user.id, failures: MAX + 20 })
})

test('U69 failures end no session, no token and no password link of the user', async () => {
  const { user, browser, applications } = await userWith(service, 'Notes')
  const { url } = await okAdmin<{ url: string }>(service, 'POST', `/admin/users/${user.id}/password-link`)
  vi.spyOn(service.app.waitingRoom, 'enter').mockResolvedValue(0)
  await failures(user.email, MAX + 10)
  const [notes] = applications
  expect(await isSignedIn(service, browser)).toBe(true)
  expect((await refresh(service, notes?.client ?? { client_id: '' }, notes?.refresh_token)).status).toBe(200)
  const page = await new Browser().open(url)
  expect([page.status, page.text.includes('name="new_password"')]).toEqual([200, true])
})
