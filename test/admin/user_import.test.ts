import { hashSync } from '@node-rs/argon2'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { MAX_IMPORTED } from '../../src/records/user_batches.ts'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { authorize, redeem } from '../support/flow.ts'
import { addClient, addResource, addUser, PASSWORD, startService, type TestService } from '../support/service.ts'

/** The algorithm by its number in the library, whose enum exists only in types. */
const ARGON2ID = 2

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

interface UserJson {
  id: string
  email: string
}
interface Answer {
  created?: number
  skipped?: number
  error?: string
  error_description?: string
  errors?: { index: number; message: string }[]
}
const send = (users: readonly object[], more: object = {}, query = '') =>
  callAdmin<Answer>(service, 'POST', `/admin/users/import${query}`, { users, ...more })
const find = (email: string) => okAdmin<UserJson[]>(service, 'GET', `/admin/users?email=${encodeURIComponent(email)}`)
const count = async () => (await okAdmin<UserJson[]>(service, 'GET', '/admin/users')).length
/** A hash of PASSWORD as another system makes it, with parameters that are not ours. */
const hashElsewhere = () => hashSync(PASSWORD, { algorithm: ARGON2ID, memoryCost: 1024, timeCost: 3, parallelism: 2 })

test('creates all users with their members, and records one event for the request', async () => {
  const { status, body } = await send([
    { email: 'Ada@example.com', name: 'Ada', groups: ['staff', 'ops'], role: 'admin', email_verified: false },
    { email: 'bob@example.com', status: 'disabled' },
  ])
  expect([status, body]).toEqual([201, { created: 2, skipped: 0 }])
  expect(await find('ada@example.com')).toMatchObject([
    {
      email: 'Ada@example.com',
      name: 'Ada',
      role: 'admin',
      status: 'active',
      email_verified: false,
      groups: ['ops', 'staff'],
      provider: 'local',
    },
  ])
  expect(await find('bob@example.com')).toMatchObject([{ status: 'disabled', email_verified: true, groups: [] }])
  expect((await eventsOf(service, 'users_imported')).map(({ detail }) => detail)).toEqual([{ users: 2, skipped: 0 }])
})

test('an imported user signs in with the password of the other system, whose hash is replaced by one with our parameters', async () => {
  const password_hash = hashElsewhere()
  expect((await send([{ email: 'grace@example.com', password_hash }])).status).toBe(201)
  const [client, resource] = [await addClient(service), await addResource(service)]
  const authorized = await authorize(service, client, { email: 'grace@example.com' }, { resource: resource.uri })
  expect((await redeem(service, client, authorized)).status).toBe(200)
  const user = await service.app.store.findUserByEmail({ email: 'grace@example.com' })
  expect(user?.password_hash).toContain('$m=19456,t=2,p=1$')
})

test.each(['2a', '2b', '2y'])(
  'an imported bcrypt hash ($%s$) verifies, and the first sign-in replaces it',
  async (kind) => {
    // A vector of OpenBSD: the password is U*U.
    const password_hash = `$${kind}$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW`
    const email = `bcrypt-${kind}@example.com`
    expect((await send([{ email, password_hash }])).status).toBe(201)
    const user = await service.app.store.findUserByEmail({ email })
    const verify = (text: string) => service.app.crypto.verifyPassword(text, user?.password_hash)
    expect(await verify('U*U*')).toEqual({ right: false })
    expect(await verify('U*U')).toEqual({ right: true, rehashed: expect.stringContaining('$argon2id$') })
  },
)

test('a user without a password hash cannot sign in with a password', async () => {
  expect((await send([{ email: 'none@example.com' }])).status).toBe(201)
  const user = await service.app.store.findUserByEmail({ email: 'none@example.com' })
  expect((await service.app.crypto.verifyPassword('', user?.password_hash)).right).toBe(false)
})

test('a hash is never shown and never audited', async () => {
  const password_hash = hashElsewhere()
  await send([{ email: 'secret@example.com', password_hash }])
  const shown = JSON.stringify([await find('secret@example.com'), await eventsOf(service, 'users_imported')])
  expect(shown).not.toContain('argon2')
})

test('one email in use makes the whole import fail, with the position of every such user', async () => {
  const [one, two] = [await addUser(service), await addUser(service)]
  const before = await count()
  const { status, body } = await send([
    { email: one.email.toUpperCase() },
    { email: 'fresh@example.com', groups: ['staff'] },
    { email: two.email },
  ])
  expect([status, body.error]).toEqual([409, 'conflict'])
  expect(body.errors?.map(({ index }) => index)).toEqual([0, 2])
  expect(await count()).toBe(before)
})

test('users whose email is in use are skipped on request, and are not changed', async () => {
  const known = await addUser(service)
  const { status, body } = await send([{ email: known.email, name: 'Another' }, { email: 'hopper@example.com' }], {
    existing: 'skip',
  })
  expect([status, body]).toEqual([201, { created: 1, skipped: 1 }])
  expect(await find(known.email)).toMatchObject([{ id: known.id, name: known.name }])
})

test('a dry run returns the effects and changes nothing', async () => {
  const [known, before] = [await addUser(service), await count()]
  const events = (await eventsOf(service, 'users_imported')).length
  const fresh = { email: 'dry@example.com' }
  expect(await send([fresh, { email: known.email }], { existing: 'skip' }, '?dry_run=true')).toMatchObject({
    status: 200,
    body: { created: 1, skipped: 1 },
  })
  expect((await send([fresh, { email: known.email }], {}, '?dry_run=true')).status).toBe(409)
  expect([await count(), (await eventsOf(service, 'users_imported')).length]).toEqual([before, events])
})

test.each([
  ['an email twice', [{ email: 'x@example.com' }, { email: 'X@example.com' }], 'users[1].email'],
  ['no email', [{ name: 'X' }], 'users[0].email'],
  ['a password', [{ email: 'x@example.com', password: PASSWORD }], 'password'],
  [
    'a hash that is expensive to verify',
    [{ email: 'x@example.com', password_hash: `$argon2id$v=19$m=4194304,t=1,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}` }],
    'users[0].password_hash',
  ],
  [
    'a hash of another kind',
    [{ email: 'x@example.com', password_hash: '5f4dcc3b5aa765d61d8327deb882cf99' }],
    'users[0].password_hash',
  ],
  ['groups that are no list', [{ email: 'x@example.com', groups: 'staff' }], 'users[0].groups'],
  ['an unknown role', [{ email: 'x@example.com', role: 'emperor' }], 'users[0].role'],
  ['no users', [], 'users'],
  ['too many users', Array.from({ length: MAX_IMPORTED + 1 }, (_, i) => ({ email: `x${i}@example.com` })), 'users'],
])('refuses %s, and writes nothing', async (_what, users, at) => {
  const before = await count()
  const { status, body } = await send([{ email: 'first@example.com' }, ...users].slice(users.length === 0 ? 1 : 0))
  expect([status, body.error]).toEqual([400, 'invalid_request'])
  expect(body.error_description).toContain(users.length === 1 ? at.replace('[0]', '[1]') : at.replace('[1]', '[2]'))
  expect(await count()).toBe(before)
})

test('two concurrent imports of one email create one user', async () => {
  const answers = await Promise.all([1, 2].map(() => send([{ email: 'race@example.com' }])))
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 409])
  expect(await find('race@example.com')).toHaveLength(1)
})

test('a refusal names every mistake by the position of its user', async () => {
  const { status, body } = await send([{ email: 'fine@example.com' }, { email: 'x', groups: 'staff' }, { name: 'y' }])
  expect([status, body.error]).toEqual([400, 'invalid_request'])
  expect(body.errors).toEqual([
    { index: 1, message: 'email must be an email address' },
    { index: 1, message: 'groups must be a list' },
    { index: 2, message: 'email is required' },
  ])
})
