import { afterAll, beforeAll, expect, test } from 'vitest'
import type { User } from '../../src/records/user.ts'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { envOf, okHere } from '../support/cli.ts'
import { aUser } from '../support/records.ts'
import { addResource, addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

interface Group {
  name: string
  users: number
  resources: string[]
}
interface UserJson {
  id: string
  email: string
}
const list = (query = '') => okAdmin<Group[]>(service, 'GET', `/admin/groups${query}`)
const members = (query: string) => okAdmin<UserJson[]>(service, 'GET', `/admin/users?${query}`)
const restricted = (groups: string[]) =>
  addResource(service, { access: { mode: 'restricted', groups, users: [], email_domains: [] } })
const oidc = { provider: 'oidc', provider_issuer: 'https://idp.example.com', password_hash: undefined } as const

test('the list is empty if no user and no resource has a group', async () => {
  expect(await list()).toEqual([])
})

test('a group is listed with its number of users and the resources whose access or scopes name it', async () => {
  const [ada] = [
    await addUser(service, { operator_groups: ['ops', 'staff'] }),
    await addUser(service, { operator_groups: ['staff'] }),
    // A group of operators that the provider names too counts the user once.
    await addUser(service, {
      ...oidc,
      provider_sub: 'a',
      operator_groups: ['staff'],
      provider_groups: ['guests', 'staff'],
    }),
  ]
  const [notes, files] = [await restricted(['staff', 'nobody-yet']), await restricted(['staff'])]
  const scoped = await addResource(service)
  const scopes = [
    { name: 'read', groups: ['ops'] },
    { name: 'write', groups: ['ops', 'also-empty'] },
  ]
  expect((await callAdmin(service, 'PATCH', `/admin/resources/${scoped.id}`, { scopes })).status).toBe(200)
  expect(await list()).toEqual([
    { name: 'guests', users: 1, resources: [] },
    { name: 'ops', users: 1, resources: [scoped.slug] },
    { name: 'staff', users: 3, resources: [notes.slug, files.slug].sort() },
    // Those without users come last.
    { name: 'also-empty', users: 0, resources: [scoped.slug] },
    { name: 'nobody-yet', users: 0, resources: [notes.slug] },
  ])
  await callAdmin(service, 'PATCH', `/admin/users/${ada?.id}`, { groups: ['staff'] })
  expect((await list()).find(({ name }) => name === 'ops')?.users).toBe(0)
  await callAdmin(service, 'PATCH', `/admin/users/${ada?.id}`, { groups: ['ops', 'staff'] })
})

test('groups are listed in pages by name, including groups without users', async () => {
  const all = await list()
  for (const limit of [1, 2, 4]) {
    const found: Group[] = []
    for (let after = ''; ; ) {
      const page = await list(`?limit=${limit}${after && `&after=${after}`}`)
      found.push(...page)
      if (page.length < limit) break
      after = page.at(-1)?.name ?? ''
    }
    expect(found).toEqual(all)
  }
})

test('users of a group are listed in pages, oldest first, and can be searched', async () => {
  const made: UserJson[] = []
  for (let i = 0; i < 5; i++)
    made.push(await addUser(service, { name: `Member ${i}`, operator_groups: ['crew'], created_at: 100 - i }))
  const ids = made.map(({ id }) => id).reverse()
  const found = async (query: string) => (await members(`group=crew&${query}`)).map(({ id }) => id)
  expect(await found('')).toEqual(ids)
  expect(await found('order=newest')).toEqual([...ids].reverse())
  expect(await found('limit=2&offset=1')).toEqual(ids.slice(1, 3))
  expect(await found(`limit=2&after=${ids[1]}`)).toEqual(ids.slice(2, 4))
  expect(await found('q=member+3')).toEqual([made[3]?.id])
  expect(await found(`q=member&after=${ids[3]}`)).toEqual([ids[4]])
  expect(await found(`email=${made[2]?.email}`)).toEqual([made[2]?.id])
  expect(await members('group=cre')).toEqual([])
  expect(await members(`group=staff&email=${made[2]?.email}`)).toEqual([])
})

test('counting stops at 1000 users, and the answer says that there are more', async () => {
  const before = await list()
  const users = Array.from({ length: 1001 }, () => aUser({ operator_groups: ['everyone', 'zz'] }))
  const load = (part: User[]) => service.app.store.importUsers({ users: part, skip: false, dry_run: false })
  await load(users.slice(0, 1000))
  const found = async (name: string) => (await list()).find((group) => group.name === name)
  expect(await found('everyone')).toEqual({ name: 'everyone', users: 1000, resources: [] })
  await load(users.slice(1000))
  expect(await found('everyone')).toEqual({ name: 'everyone', users: 1000, more_users: true, resources: [] })
  expect((await list()).length).toBe(before.length + 2)
})

test('the command line lists groups, and users by group', async () => {
  const env = envOf(service)
  expect(JSON.parse(await okHere(['admin', 'group', 'list', '--limit', '1', '--json'], env))).toEqual([
    { name: 'crew', users: 5, resources: [] },
  ])
  expect(JSON.parse(await okHere(['admin', 'user', 'list', '--group', 'crew', '--json'], env))).toHaveLength(5)
})
