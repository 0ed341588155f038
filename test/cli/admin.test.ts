import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { okAdmin } from '../support/admin.ts'
import { envOf, okCli, okHere, runHere } from '../support/cli.ts'
import { post } from '../support/flow.ts'
import { tempFile, tempFolder } from '../support/folder.ts'
import { addClient, addUser, PASSWORD, startService, type TestService } from '../support/service.ts'

let service: TestService
let viaServer: Record<string, string>
/** The same database, with an admin address where no server listens. */
let direct: Record<string, string>
beforeAll(async () => {
  service = await startService()
  viaServer = envOf(service)
  direct = { ...viaServer, SERVICE_ADMIN_ADDRESS: '127.0.0.1:2' }
})
afterAll(() => service.close())

const valueIn = (stdout: string, key: string) => new RegExp(`^${key}=(.*)$`, 'm').exec(stdout)?.[1]
const machine = 'admin client create --name Job --grant-types client_credentials --auth-method client_secret_post'
const token = (client_id = '', client_secret = '') =>
  post(`${service.issuer}/oauth/token`, { client_id, client_secret }, { grant_type: 'client_credentials' })

test.each([
  'client list',
  'user list',
  'resource list',
  'key list',
  'dcr get',
  'client list --status active --limit 1',
])('admin %s prints the same through the server and on the database, as lines and as JSON', async (command) => {
  await addUser(service)
  for (const format of [[], ['--json']]) {
    const args = ['admin', ...command.split(' '), ...format]
    expect(await runHere(args, direct)).toEqual(await runHere(args, viaServer))
  }
})

test('a client is shown, suspended and reactivated, and a user is shown, disabled, enabled and given a password', async () => {
  const client = await addClient(service)
  const id = ['--id', client.client_id]
  const run = (...words: string[]) => okHere(['admin', ...words, '--json'], viaServer).then((text) => JSON.parse(text))
  const status = async () => (await token(client.client_id, client.client_secret)).status
  expect(await run('client', 'show', ...id)).toMatchObject({ client_id: client.client_id, status: 'active' })
  await run('client', 'suspend', ...id)
  expect(await status()).not.toBe(200)
  await run('client', 'reactivate', ...id)
  const user = await addUser(service)
  const at = ['--id', user.id]
  expect(await run('user', 'disable', ...at)).toEqual({ status: 'disabled' })
  expect(await run('user', 'show', ...at)).toMatchObject({ email: user.email, disabled: true })
  await run('user', 'enable', ...at)
  await run('user', 'set-password', ...at, '--password', 'set by an operator')
  const { password_hash } = (await service.app.store.findUser(user)) ?? {}
  expect((await service.app.crypto.verifyPassword('set by an operator', password_hash)).right).toBe(true)
})

test('status, stats, the audit trail and the client activity are printed', async () => {
  await addUser(service)
  const shown = async (words: string) => JSON.parse(await okHere(['admin', ...words.split(' '), '--json'], viaServer))
  expect(await shown('status')).toMatchObject({ lockouts: 0, subsystems: expect.any(Array) })
  expect(await shown('stats')).toMatchObject({ users: expect.any(Number) })
  expect(await shown('audit list --action user_disabled --limit 1')).toEqual(
    await okAdmin(service, 'GET', '/admin/audit?action=user_disabled&limit=1'),
  )
  expect(await shown('connection list --failing true')).toEqual(
    await okAdmin(service, 'GET', '/admin/connections?failing=true'),
  )
})

test('--json prints the answer of the admin API', async () => {
  const printed = JSON.parse(await okHere(['admin', 'client', 'list', '--json'], viaServer))
  expect(printed).toEqual(await okAdmin(service, 'GET', '/admin/clients'))
})

test.each([
  ['user delete --id nothing-here', 3, 'there is no such user [not_found]'],
  ['resource get --slug nothing-here', 3, 'there is no such resource [not_found]'],
  ['issuance list --since 31d', 2, 'since must be at most 720h'],
  ['dcr set --mode closed', 2, 'mode must be one of open, approved_redirects, admin_only'],
  ['client create --name X --redirect-uris nonsense', 2, 'redirect_uris[0] must be an https URL'],
  [
    'user create --email taken@example.com --password long-enough --name X',
    4,
    'with this email exists already [conflict]',
  ],
])('admin %s ends with %i in the same words through the server and on the database', async (command, exit, message) => {
  if (exit === 4 && !(await service.app.store.findUserByEmail({ email: 'taken@example.com' })))
    await addUser(service, { email: 'taken@example.com' })
  const args = ['admin', ...command.split(' ')]
  const [there, here] = [await runHere(args, viaServer), await runHere(args, direct)]
  expect(there).toEqual(here)
  expect([there.code, there.stdout]).toEqual([exit, ''])
  expect(there.stderr).toMatch(/^error: /)
  expect(there.stderr).toContain(message)
})

test('with --json, a refusal is the JSON object that the admin API answers', async () => {
  const args = ['admin', 'user', 'delete', '--id', 'nothing-here', '--json']
  for (const env of [viaServer, direct]) {
    const { code, stdout, stderr } = await runHere(args, env)
    expect([code, stdout]).toEqual([3, ''])
    expect(JSON.parse(stderr)).toMatchObject({ error: 'not_found', error_description: 'there is no such user' })
  }
})

describe.each([
  ['through the server', () => viaServer],
  ['on the database', () => direct],
])('%s', (_how, env) => {
  test('a client is created with its secret, updated, rotated and deleted', async () => {
    const made = await okHere([...machine.split(' '), '--scopes', 'mcp:read', '--scopes', 'mcp:write'], env())
    const [id = '', secret = ''] = [valueIn(made, 'client_id'), valueIn(made, 'client_secret')]
    expect(valueIn(made, 'scope')).toBe('mcp:read mcp:write')
    expect((await token(id, secret)).status).toBe(200)
    const updated = await okHere(['admin', 'client', 'update', '--id', id, '--name', 'Job 2'], env())
    expect(valueIn(updated, 'client_name')).toBe('Job 2')
    expect(updated).not.toContain(secret)
    const rotated = await okHere(['admin', 'client', 'rotate-secret', '--id', id], env())
    await expect.poll(async () => (await token(id, valueIn(rotated, 'client_secret'))).status).toBe(200)
    expect((await token(id, secret)).status).toBe(401)
    expect((await runHere(['admin', 'client', 'delete', '--id', id], env())).stderr).toContain('live tokens')
    expect(await okHere(['admin', 'client', 'delete', '--id', id, '--force'], env())).toBe('')
    expect((await runHere(['admin', 'client', 'delete', '--id', id], env())).stderr).toContain('no such client')
  })

  test('the registration mode is set in the running server', async () => {
    for (const mode of ['admin_only', 'open']) {
      expect(await okHere(['admin', 'dcr', 'set', '--mode', mode], env())).toBe(`mode=${mode}\n`)
      await expect.poll(() => okAdmin(service, 'GET', '/admin/settings/dcr'), { timeout: 5000 }).toEqual({ mode })
    }
  })

  test('a resource is created from scopes and a scope map, and its policy is changed', async () => {
    const slug = `cli-${env() === direct ? 'direct' : 'server'}`
    const { client_id } = await addClient(service)
    const create = ['--slug', slug, '--uri', `https://${slug}.example.com/mcp`, '--backend-kind', 'mint']
    const scopes = ['--scopes', 'mcp:read||Read, and more', '--scope-map', 'a:b,c:d']
    await okHere(['admin', 'resource', 'create', ...create, ...scopes], env())
    const shown = JSON.parse(await okHere(['admin', 'resource', 'get', '--slug', slug, '--json'], env()))
    expect(shown.scopes).toEqual([
      { name: 'mcp:read', upstream: '', description: 'Read, and more' },
      { name: 'a', upstream: 'b', description: '' },
      { name: 'c', upstream: 'd', description: '' },
    ])
    const policy = ['admin', 'resource', 'policy', 'runtime']
    const named = ['--slug', slug, '--client-id', client_id]
    expect(await okHere([...policy, 'add', ...named], env())).toBe(`client_ids=${client_id}\n`)
    expect(await okHere([...policy, 'remove', ...named], env())).toBe('client_ids=\n')
    expect(await okHere(['admin', 'resource', 'delete', '--slug', slug], env())).toBe('')
  })

  test('a record is read from standard input, and flags override its members', async () => {
    const item = JSON.stringify({ client_name: 'From input', redirect_uris: ['https://client.example.com/cb'] })
    const args = ['admin', 'client', 'create', '--name', 'From flag', '--json', '-']
    expect(JSON.parse(await okCli(args, env(), item))).toMatchObject({
      client_name: 'From flag',
      redirect_uris: ['https://client.example.com/cb'],
    })
  })
})

test.each([
  ['malformed JSON', '{"client_name":', 'must hold a JSON object'],
  ['a list', '[]', 'must hold a JSON object'],
  ['nothing', '', 'must hold a JSON object'],
  ['more than 1 MiB', `{"x":"${'x'.repeat(1024 * 1024)}"}`, 'more than 1048576 bytes'],
  ['an item without what it needs', '{}', 'client_name is required'],
])('standard input with %s is refused', async (_what, input, message) => {
  const { code, stderr } = await runHere(['admin', 'client', 'create', '--json', '-'], direct, input)
  expect([code, JSON.parse(stderr)]).toMatchObject([2, { error: 'invalid_request' }])
  expect(stderr).toContain(message)
})

describe('a password', () => {
  const create = (flags: string[], input = '') => {
    const email = `${newId()}@example.com`
    const args = ['admin', 'user', 'create', '--email', email, '--name', 'Ada', ...flags]
    return runHere(args, viaServer, input).then((ran) => ({ ...ran, email }))
  }
  const works = async (email: string, password: string) => {
    const user = await service.app.store.findUserByEmail({ email })
    return (await service.app.crypto.verifyPassword(password, user?.password_hash)).right
  }
  const secretFile = (text: string) => tempFile('password', text)

  test('a password file is read without its final newline', async () => {
    const { code, email, stdout } = await create(['--password-file', secretFile('from a file \n')])
    expect([code, stdout.includes('from a file')]).toEqual([0, false])
    expect(await works(email, 'from a file ')).toBe(true)
  })

  test('a password is read from standard input', async () => {
    const { code, email } = await create(['--password', '-'], 'from the input\n')
    expect([code, await works(email, 'from the input')]).toEqual([0, true])
  })

  test.each([
    ['a file that is not there', ['--password-file', '/nowhere'], '/nowhere cannot be read'],
    ['both a value and a file', ['--password', 'x', '--password-file', '/nowhere'], 'cannot be used together'],
    ['standard input for the item too', ['--password', '-', '-'], 'cannot hold both'],
    ['an empty file', ['--password-file', '/dev/null'], 'password must have at least'],
  ])('is refused from %s', async (_what, flags, message) => {
    const { code, stderr } = await create(flags)
    expect([code, stderr.startsWith('error: ')]).toEqual([2, true])
    expect(stderr).toContain(message)
  })
})

test('a switch accepts false', async () => {
  const flags = ['--redirect-uris', 'https://client.example.com/cb', '--agent', 'false', '--json']
  const made = JSON.parse(await okHere(['admin', 'client', 'create', '--name', 'No agent', ...flags], viaServer))
  expect(made.agent).toBe(false)
})

test('issuances are printed as rows with blank lines between them', async () => {
  const client = await addClient(service)
  for (const _round of [1, 2]) await token(client.client_id, client.client_secret)
  const printed = await okHere(['admin', 'issuance', 'list', '--client', client.client_id], viaServer)
  expect(printed.split('\n\n').map((row) => valueIn(row, 'client_id'))).toEqual([client.client_id, client.client_id])
  expect(printed.match(/^[\w.[\]]+=/gm)).toHaveLength(printed.split('\n').filter(Boolean).length)
})

test('the first user is created when no user exists, without showing the password', async () => {
  const folder = tempFolder()
  const env = {
    SERVICE_ADMIN_ADDRESS: '127.0.0.1:2',
    SERVICE_STORAGE_SQLITE_PATH: path.join(folder, 'data/service.db'),
    SERVICE_SIGNING_KEY_PATH: path.join(folder, 'data/keys'),
  }
  const flags = ['--email', 'root@example.com', '--password', PASSWORD, '--name', 'Root', '--role', 'admin']
  const made = await okHere(['admin', 'user', 'create', ...flags], env)
  expect(made).not.toContain(PASSWORD)
  expect([valueIn(made, 'email'), valueIn(made, 'role')]).toEqual(['root@example.com', 'admin'])
  expect(await okHere(['admin', 'user', 'list'], env)).toBe(made)
})

test('a command does not bypass a server that refuses its key', async () => {
  const { code, stderr } = await runHere(['admin', 'user', 'list'], { ...viaServer, SERVICE_ADMIN_API_KEY: 'other' })
  expect([code, stderr]).toEqual([
    5,
    `error: the server at ${service.admin} uses another admin.api_key [unauthorized]\n`,
  ])
})

test('another program at the admin address is not taken for the server', async () => {
  const stranger = createServer((_, response) => response.end('hello')).listen(0, '127.0.0.1')
  await once(stranger, 'listening')
  try {
    const { port } = stranger.address() as AddressInfo
    const env = { ...viaServer, SERVICE_ADMIN_ADDRESS: `127.0.0.1:${port}` }
    const { code, stderr } = await runHere(['admin', 'user', 'list'], env)
    expect(code).toBe(1)
    expect(stderr).toContain('Is it the admin listener of the service?')
  } finally {
    stranger.close()
  }
})
