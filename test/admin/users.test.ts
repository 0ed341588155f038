import { afterAll, beforeAll, expect, test } from 'vitest'
import { userInFull } from '../../src/admin/answers/people.ts'
import { MAX_PASSWORD_BYTES } from '../../src/crypto/passwords.ts'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { authorize, redeem, refresh } from '../support/flow.ts'
import { addClient, addResource, addUser, PASSWORD, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

interface UserJson {
  id: string
  email: string
  name: string
  role: string
  status: string
  disabled: boolean
  error?: string
}
const create = (fields: object) => callAdmin<UserJson>(service, 'POST', '/admin/users', fields)
const patch = (id: string, body: object) => callAdmin<UserJson>(service, 'PATCH', `/admin/users/${id}`, body)
const change = (id: string, to: string) => callAdmin(service, 'PATCH', `/admin/users/${id}/${to}`)
const read = (id: string) => okAdmin<UserJson>(service, 'GET', `/admin/users/${id}`)
const list = (query: string) => okAdmin<UserJson[]>(service, 'GET', `/admin/users?${query}`)
const storedHash = async (id: string) => (await service.app.store.findUser({ id }))?.password_hash ?? ''
const isRight = async (id: string, password: string) =>
  (await service.app.crypto.verifyPassword(password, await storedHash(id))).right

/** A signed-in user at a client, with a refresh token. */
async function signedIn() {
  const [user, client, resource] = [await addUser(service), await addClient(service), await addResource(service)]
  const authorized = await authorize(service, client, user, { resource: resource.uri })
  const { body } = await redeem(service, client, authorized)
  return { user, client, refresh_token: body['refresh_token'] }
}

test('a user of an upstream provider is shown with the fields that the OpenAPI document defines', async () => {
  const known = { provider: 'oidc', provider_issuer: 'https://idp.example.com', provider_sub: 'ada' } as const
  const shown = await read((await addUser(service, { ...known, password_hash: undefined })).id)
  expect(shown).toMatchObject(known)
  expect(userInFull.safeParse(shown).error).toBeUndefined()
})

test('a created user can sign in, and the password is not shown anywhere', async () => {
  const { status, body } = await create({ email: 'ada@example.com', password: PASSWORD, name: 'Ada' })
  expect(status).toBe(201)
  expect(body).toMatchObject({ email: 'ada@example.com', name: 'Ada', role: 'user', status: 'active', disabled: false })
  expect(await isRight(body.id, PASSWORD)).toBe(true)
  const shown = JSON.stringify([
    body,
    await read(body.id),
    await list('limit=1000'),
    await eventsOf(service, 'user_created'),
  ])
  expect(shown).not.toContain(PASSWORD)
  expect(shown).not.toContain('argon2')
})

test.each([
  ['no email', { email: undefined }],
  ['no password', { password: undefined }],
  ['an email without @', { email: 'ada.example.com' }],
  ['an email with a space', { email: 'ada l@example.com' }],
  ['an email of 255 characters', { email: `${'x'.repeat(243)}@example.com` }],
  ['an empty password', { password: '' }],
  ['a password of 7 characters, however many bytes they have', { password: '🔑'.repeat(7) }],
  ['a password that is too long to hash', { password: 'x'.repeat(MAX_PASSWORD_BYTES + 1) }],
  ['an unknown role', { role: 'emperor' }],
  ['groups that are one text', { groups: 'staff' }],
  ['a group without a name', { groups: [''] }],
  ['a group that is a number', { groups: [5] }],
  ['a group with a space that cannot be seen', { groups: ['staff '] }],
  ['more groups than a user can have', { groups: Array.from({ length: 1001 }, (_, i) => `g${i}`) }],
  ['an email_verified that is a word', { email_verified: 'yes' }],
  ['a name of two lines', { name: 'Ada\nLovelace' }],
])('refuses %s', async (_what, fields) => {
  const { status, body } = await create({ email: 'new@example.com', password: PASSWORD, name: 'New', ...fields })
  expect([status, body.error]).toEqual([400, 'invalid_request'])
  expect(await list('email=new@example.com')).toEqual([])
})

test('the shortest and the longest allowed password are accepted', async () => {
  for (const password of ['🔑'.repeat(8), 'x'.repeat(MAX_PASSWORD_BYTES)])
    expect((await create({ email: `${password.length}@example.com`, password })).status).toBe(201)
})

test('creating a user with, or changing one to, an email that is in use is a conflict, ignoring case', async () => {
  const [one, two] = [await addUser(service, { email: 'Taken@example.com' }), await addUser(service)]
  expect((await create({ email: 'TAKEN@example.com', password: PASSWORD })).status).toBe(409)
  expect((await patch(two.id, { email: 'taken@EXAMPLE.com' })).status).toBe(409)
  expect((await patch(one.id, { email: 'taken@example.com' })).body.email).toBe('taken@example.com')
})

test('two concurrent creations of one email create one user', async () => {
  const answers = await Promise.all([1, 2].map(() => create({ email: 'race@example.com', password: PASSWORD })))
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 409])
})

test('the email filter finds a user by exact email', async () => {
  const user = await addUser(service)
  expect((await list(`email=${user.email}`)).map(({ id }) => id)).toEqual([user.id])
  expect(await list(`email=${encodeURIComponent("' OR 1=1 --")}`)).toEqual([])
  expect(await list('email=%25@example.com')).toEqual([])
})

test('users are listed in pages, oldest first', async () => {
  service.advance(1)
  const made = [await addUser(service)]
  service.advance(1)
  made.push(await addUser(service))
  const all = await list('')
  expect(all.slice(-2).map(({ id }) => id)).toEqual(made.map(({ id }) => id))
  expect((await list(`offset=${all.length - 1}&limit=1`)).map(({ id }) => id)).toEqual([made[1]?.id])
})

test('a patch changes the given members and keeps the password', async () => {
  const user = await addUser(service)
  const hash = await storedHash(user.id)
  expect((await patch(user.id, { name: 'Countess', role: 'admin' })).body).toMatchObject({
    name: 'Countess',
    role: 'admin',
    email: user.email,
  })
  expect(await storedHash(user.id)).toBe(hash)
  expect((await eventsOf(service, 'user_updated'))[0]?.detail).toEqual({
    user_id: user.id,
    fields: ['name', 'role'],
    changes: [{ field: 'role', before: 'user', after: 'admin' }],
  })
})

test('an empty patch changes nothing and is not recorded', async () => {
  const user = await addUser(service)
  const before = await read(user.id)
  service.advance(5)
  expect(before).toMatchObject((await patch(user.id, {})).body)
  expect((await eventsOf(service, 'user_updated')).some(({ detail }) => detail['user_id'] === user.id)).toBe(false)
})

test('a new password replaces the old one and ends all sessions of the user', async () => {
  const { user, client, refresh_token } = await signedIn()
  expect((await patch(user.id, { password: 'an entirely new phrase' })).status).toBe(200)
  expect(await isRight(user.id, PASSWORD)).toBe(false)
  expect(await isRight(user.id, 'an entirely new phrase')).toBe(true)
  expect((await refresh(service, client, refresh_token)).body['error']).toBe('invalid_grant')
  const [event] = await eventsOf(service, 'user_updated')
  expect(event?.detail).toEqual({ user_id: user.id, fields: ['password'] })
})

test('a new name does not end the sessions of the user', async () => {
  const { user, client, refresh_token } = await signedIn()
  await patch(user.id, { name: 'Other' })
  expect((await refresh(service, client, refresh_token)).status).toBe(200)
})

test('disabling a user ends the sessions; disabling a disabled user is a conflict', async () => {
  const { user, client, refresh_token } = await signedIn()
  expect((await change(user.id, 'enable')).status).toBe(409)
  expect((await change(user.id, 'disable')).body).toEqual({ status: 'disabled' })
  expect((await change(user.id, 'disable')).status).toBe(409)
  expect(await read(user.id)).toMatchObject({ status: 'disabled', disabled: true })
  expect((await refresh(service, client, refresh_token)).body['error']).toBe('invalid_grant')
  expect((await change(user.id, 'enable')).body).toEqual({ status: 'active' })
  expect((await refresh(service, client, refresh_token)).body['error']).toBe('invalid_grant')
})

test('a forced logout revokes the refresh tokens and returns the number of sign-ins', async () => {
  const { user, client, refresh_token } = await signedIn()
  const logout = () => okAdmin(service, 'DELETE', `/admin/users/${user.id}/tokens`)
  expect(await logout()).toEqual({ user_id: user.id, tokens_revoked: 1 })
  expect((await refresh(service, client, refresh_token)).body['error']).toBe('invalid_grant')
  expect(await logout()).toEqual({ user_id: user.id, tokens_revoked: 0 })
})

test('a user with live refresh tokens is deleted only with force', async () => {
  const { user, client, refresh_token } = await signedIn()
  const remove = (query = '') => callAdmin(service, 'DELETE', `/admin/users/${user.id}${query}`)
  expect((await remove()).status).toBe(409)
  expect((await remove('?force=maybe')).status).toBe(400)
  expect((await remove('?force=true')).status).toBe(204)
  expect((await remove()).status).toBe(404)
  expect((await refresh(service, client, refresh_token)).body['error']).toBe('invalid_grant')
})

test('groups are stored sorted and without duplicates; a patch replaces them', async () => {
  const groups = ['staff', 'ops', 'ops,staff', 'staff']
  const { body } = await create({ email: 'grace@example.com', password: PASSWORD, name: 'Grace', groups })
  const shown = (id: string) =>
    okAdmin<{ groups: string[]; email_verified: boolean }>(service, 'GET', `/admin/users/${id}`)
  expect(await shown(body.id)).toMatchObject({ groups: ['ops', 'ops,staff', 'staff'], email_verified: true })
  await patch(body.id, { groups: ['staff', 'night'], email_verified: false })
  await patch(body.id, { name: 'Grace H.' })
  expect(await shown(body.id)).toMatchObject({ groups: ['night', 'staff'], email_verified: false })
  const [, changed] = await eventsOf(service, 'user_updated')
  const fields = ['email_verified', 'operator_groups']
  const detail = {
    user_id: body.id,
    fields: expect.arrayContaining(fields),
    changes: expect.arrayContaining([{ field: 'email_verified', before: 'true', after: 'false' }]),
    added: ['night'],
    removed: ['ops', 'ops,staff'],
  }
  expect(changed?.detail).toEqual(detail)
})

test('groups of the provider are shown separately, and operators change only their own groups', async () => {
  const { id } = await addUser(service, { provider: 'oidc', operator_groups: ['a', 'b'], provider_groups: ['b', 'c'] })
  await patch(id, { groups: ['d'] })
  const shown = { groups: ['b', 'c', 'd'], operator_groups: ['d'], provider_groups: ['b', 'c'] }
  const answer = await read(id)
  expect(answer).toMatchObject(shown)
  expect(userInFull.safeParse(answer).error).toBeUndefined()
})
