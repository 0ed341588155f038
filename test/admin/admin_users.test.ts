// Users with the role admin, where they sign in to the admin page with a passkey (admin.sign_in.local): who may create and change them.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { okAdmin } from '../support/admin.ts'
import { addFactor } from '../support/factors.ts'
import { addUser, PASSWORD, startService, type TestService } from '../support/service.ts'

const PEOPLE = { SERVICE_ADMIN_SIGN_IN_ENABLED: 'true', SERVICE_ADMIN_SIGN_IN_URL: '<admin>' }
let local: TestService
let other: TestService
const keys = new Map<TestService, string>()
beforeAll(async () => {
  local = await startService({ ...PEOPLE, SERVICE_ADMIN_SIGN_IN_LOCAL: 'true' })
  other = await startService()
  for (const service of [local, other]) {
    const made = { name: 'operator', capability: 'operator' }
    keys.set(service, (await okAdmin<{ key: string }>(service, 'POST', '/admin/api-keys', made)).key)
  }
})
afterAll(() => Promise.all([local.close(), other.close()]))

/** The status of what an operator does. */
async function operate(service: TestService, method: string, path: string, body?: object): Promise<number> {
  const headers = { authorization: `Bearer ${keys.get(service)}`, 'content-type': 'application/json' }
  return (await fetch(service.admin + path, { method, headers, body: body && JSON.stringify(body) })).status
}
const email = () => `${newId()}@example.com`.toLowerCase()

const CHANGES: [string, (id: string) => [method: string, path: string, body?: object]][] = [
  ['a new password', (id) => ['PATCH', `/admin/users/${id}`, { password: 'another long password' }]],
  ['a new email', (id) => ['PATCH', `/admin/users/${id}`, { email: email() }]],
  ['another role', (id) => ['PATCH', `/admin/users/${id}`, { role: 'user' }]],
  ['a password link', (id) => ['POST', `/admin/users/${id}/password-link`]],
  ['a reset of the factors', (id) => ['POST', `/admin/users/${id}/reset-factors`]],
  ['a disabled account', (id) => ['PATCH', `/admin/users/${id}/disable`]],
  ['a deletion', (id) => ['DELETE', `/admin/users/${id}?force=true`]],
]

test.each(CHANGES)('%s of an admin needs the capability admin', async (_, change) => {
  const { id } = await addUser(local, { role: 'admin' })
  expect(await operate(local, ...change(id))).toBe(403)
  const user = await addUser(local)
  expect(await operate(local, ...change(user.id))).toBeLessThan(300)
})

test('so does giving the role: to a new user, to an old one, and by an import', async () => {
  const { id } = await addUser(local)
  const made = { email: email(), password: PASSWORD, role: 'admin' }
  expect(await operate(local, 'POST', '/admin/users', made)).toBe(403)
  expect(await operate(local, 'PATCH', `/admin/users/${id}`, { role: 'admin' })).toBe(403)
  expect(await operate(local, 'POST', '/admin/users/import', { users: [{ email: email(), role: 'admin' }] })).toBe(403)
  expect(await operate(local, 'POST', '/admin/users', { ...made, role: 'user' })).toBe(201)
})

test('without admin.sign_in.local operators change admins, but not the role of one who has a factor', async () => {
  const [plain, guarded] = [await addUser(other, { role: 'admin' }), await addUser(other, { role: 'admin' })]
  await addFactor(other, guarded.id)
  expect(await operate(other, 'PATCH', `/admin/users/${plain.id}`, { role: 'user' })).toBe(200)
  expect(await operate(other, 'PATCH', `/admin/users/${guarded.id}`, { role: 'user' })).toBe(403)
  expect(await operate(other, 'POST', `/admin/users/${guarded.id}/reset-factors`)).toBe(403)
})
