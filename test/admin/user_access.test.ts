import { afterAll, beforeAll, expect, test } from 'vitest'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { envOf, okHere } from '../support/cli.ts'
import { addResource, addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

interface AccessJson {
  slug: string
}
const accessOf = (id: string, query = '') => okAdmin<AccessJson[]>(service, 'GET', `/admin/users/${id}/access${query}`)

test('each resource has the rule that admits or refuses the user, and the scopes that the user gets', async () => {
  const user = await addUser(service, { email: 'ada@corp.example.com', operator_groups: ['ops', 'staff'] })
  const only = (access: object, more: object = {}) =>
    addResource(service, { access: { mode: 'restricted', ...access }, scopes: ['read', 'write'], ...more })
  const made = [
    await addResource(service, { scopes: ['read', 'write'], scope_groups: { write: ['editors'] } }),
    await only({ groups: ['night', 'ops', 'staff'] }),
    await only({ users: [user.id] }),
    await only({ email_domains: ['corp.example.com'] }),
    await only({ groups: ['night'] }, { scope_groups: { write: ['ops'] } }),
    await addResource(service, { scopes: ['read'], scope_groups: { read: ['editors'] } }),
  ]
  const all = { groups: [], scopes: ['read', 'write'], missing_scopes: [] }
  const expected = [
    {
      allowed: true,
      admitted_by: 'everyone',
      groups: [],
      scopes: ['read'],
      missing_scopes: [{ name: 'write', groups: ['editors'] }],
    },
    { allowed: true, admitted_by: 'groups', ...all, groups: ['ops', 'staff'] },
    { allowed: true, admitted_by: 'users', ...all },
    { allowed: true, admitted_by: 'email_domains', ...all },
    { allowed: false, refused_by: 'access', groups: [], scopes: [], missing_scopes: [] },
    {
      allowed: false,
      admitted_by: 'everyone',
      refused_by: 'scope_groups',
      groups: [],
      scopes: [],
      missing_scopes: [{ name: 'read', groups: ['editors'] }],
    },
  ]
  const shown = await accessOf(user.id)
  const bySlug = (slug: string) => shown.find((each) => each.slug === slug)
  expect(made.map(({ slug }) => bySlug(slug))).toEqual(
    made.map(({ slug, display_name }, i) => ({ slug, display_name, ...expected[i] })),
  )
  expect([...(await accessOf(user.id, '?limit=2')), ...(await accessOf(user.id, '?limit=100&offset=2'))]).toEqual(shown)
  const json = await okHere(['admin', 'user', 'access', '--id', user.id, '--json'], envOf(service))
  expect(JSON.parse(json)).toEqual(shown)
})

test('an unknown user has no access list', async () => {
  expect((await callAdmin(service, 'GET', '/admin/users/nobody/access')).status).toBe(404)
})
