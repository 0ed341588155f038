// Commands name items by their id, or by what people know.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { okAdmin } from '../support/admin.ts'
import { envOf, okHere, runHere } from '../support/cli.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
let viaServer: Record<string, string>
beforeAll(async () => {
  service = await startService({ SERVICE_XAA_ENABLED: 'true' })
  viaServer = envOf(service)
})
afterAll(() => service.close())

/** The same database, with an admin address where no server listens. */
const direct = () => ({ ...viaServer, SERVICE_ADMIN_ADDRESS: '127.0.0.1:2' })
const run = (words: readonly string[], env = viaServer) => runHere(['admin', ...words], env)
const shown = async (words: readonly string[], env = viaServer) =>
  JSON.parse(await okHere(['admin', ...words, '--json'], env))
const statusOf = async (client_id: string) => (await okAdmin(service, 'GET', `/admin/clients/${client_id}`)).status

test('a user is named by id or email, in any case, through the server and on the database', async () => {
  const user = await addUser(service, { email: `${newId().toLowerCase()}@example.com` })
  for (const env of [viaServer, direct()])
    for (const name of [['--id', user.id], [user.id], ['--email', user.email], ['--email', user.email.toUpperCase()]])
      expect((await shown(['user', 'show', ...name], env)).id).toBe(user.id)
  expect((await shown(['grant', 'list-user-grants', '--email', user.email])).consent_grants).toEqual([])
})

test('a client is named by its name, and a client whose name only contains it is another one', async () => {
  const name = `Lookup ${newId()}`
  const client = await addClient(service, { client_name: name })
  await addClient(service, { client_name: `${name} 2` })
  await run(['client', 'suspend', '--name', name])
  expect(await statusOf(client.client_id)).toBe('suspended')
  expect((await shown(['issuance', 'list', '--client-name', name])).issuances).toEqual([])
})

test('a name that two clients have is refused with both ids, and nothing changes', async () => {
  const twins = [await addClient(service, { client_name: 'Twin' }), await addClient(service, { client_name: 'Twin' })]
  const { code, stderr } = await run(['client', 'suspend', '--name', 'Twin'])
  expect([code, stderr]).toEqual([4, expect.stringContaining('[conflict]')])
  for (const { client_id } of twins) {
    expect(stderr).toContain(client_id)
    expect(await statusOf(client_id)).toBe('active')
  }
})

test('a resource is named by slug, id or name, also where the path takes a slug', async () => {
  const resource = await addResource(service)
  await okAdmin(service, 'PATCH', `/admin/resources/${resource.slug}`, { display_name: 'The notes' })
  for (const name of [['--slug', resource.slug], ['--id', resource.slug], ['--name', 'The notes'], [resource.slug]])
    expect((await shown(['resource', 'get', ...name])).slug).toBe(resource.slug)
  expect(await shown(['resource', 'policy', 'runtime', 'list', '--name', 'The notes'])).toEqual({ client_ids: [] })
})

test('an item with a name is found by it without a declaration', async () => {
  const idp = { issuer: 'https://idp.example.com', jwks_uri: 'https://idp.example.com/jwks', name: 'Example Corp' }
  const { id } = await okAdmin(service, 'POST', '/admin/idps', idp)
  expect((await shown(['idp', 'get', '--name', 'Example Corp'])).id).toBe(id)
  expect((await shown(['policy', 'create', '--idp-name', 'Example Corp', '--name', 'All'])).idp_id).toBe(id)
})

test.each([
  [['user', 'show', '--email', 'nobody@example.com'], 3, 'there is no such user [not_found]'],
  [['client', 'show', '--name', 'Nothing'], 3, 'there is no such client [not_found]'],
  [['user', 'show'], 2, '--id or --email is required'],
  [['user', 'show', '--id', 'a', '--email', 'b'], 2, '--id and --email cannot be used together'],
  [['user', 'show', 'a', '--id', 'b'], 2, '--id and a cannot be used together'],
  [['user', 'show', 'a', '--email', 'b'], 2, '--id and --email cannot be used together'],
])('%j ends with %i', async (words, exit, message) => {
  const { code, stderr } = await run(words)
  expect([code, stderr]).toEqual([exit, expect.stringContaining(message)])
})

test('a flag that sets a member does not also name the item', async () => {
  const client = await addClient(service)
  const updated = await shown(['client', 'update', '--id', client.client_id, '--name', 'New name'])
  expect([updated.client_id, updated.client_name]).toEqual([client.client_id, 'New name'])
})
