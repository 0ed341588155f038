// Section U of the attack list, local accounts. One test per row, named by its id. U61: test/flows/account_limit.test.ts, U62: test/http/waiting_room.test.ts.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Browser, fieldsOf } from '../support/browser.ts'
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

/** A login behind the proxy, from an address. */
const attempt = async (address: string, email: string, password: string) => {
  const browser = new Browser()
  const page = await browser.open(`${service.issuer}/login`)
  const fields = { ...Object.fromEntries(fieldsOf(page)), email, password }
  return (await browser.post(`${service.issuer}/login`, fields, { 'x-forwarded-for': address })).status
}

test('U60 failures from many addresses do not lock the user out: the right password works from another address', async () => {
  const user = await addUser(service)
  for (let i = 0; i < MAX; i++) expect(await attempt(`198.51.100.${i}`, user.email, 'wrong')).toBe(422)
  const attackers = Array.from({ length: 40 }, (_, i) => attempt(`203.0.113.${i}`, user.email, 'wrong'))
  expect(await attempt('192.0.2.1', user.email, PASSWORD)).toBe(303)
  expect(new Set(await Promise.all(attackers))).toEqual(new Set([422]))
})
