import { expect, test } from 'vitest'
import { commandOf } from '../../src/admin/action.ts'
import { adminResources } from '../../src/admin/index.ts'
import { readFlags } from '../../src/cli/flag_values.ts'
import { type Flag, flagsOf } from '../../src/cli/flags.ts'

const commands = adminResources.flatMap((resource) =>
  Object.entries(resource.actions).flatMap(([word, action]) => {
    const command = commandOf(resource, word)
    return command === undefined ? [] : [{ command, flags: flagsOf(action) }]
  }),
)
const flagsFor = (command: string): Flag[] => commands.find((each) => each.command === command)?.flags ?? []

// The commands of the specification with the flags that it names, and those that are derived.
const SPECIFIED: [string, string[]][] = [
  ['user create', ['email', 'password', 'name', 'role']],
  ['user list', ['email']],
  ['user update', ['id', 'email', 'name', 'role']],
  ['user force-logout', ['id']],
  ['user delete', ['id', 'force']],
  ['client list', ['status', 'source', 'limit']],
  [
    'client create',
    ['name', 'grant-types', 'redirect-uris', 'scopes', 'auth-method', 'agent', 'agent-description', 'client-id'],
  ],
  ['client update', ['id', 'name', 'redirect-uris', 'grant-types', 'scopes']],
  ['client rotate-secret', ['id']],
  ['client delete', ['id', 'force']],
  ['resource list', ['backend-kind', 'broker-provider']],
  ['resource get', ['slug']],
  ['resource create', ['slug', 'uri', 'backend-kind', 'broker-provider', 'display-name', 'scopes', 'scope-map']],
  ['resource update', ['slug', 'scopes']],
  ['resource delete', ['slug', 'cascade']],
  ['resource policy exchange list', ['slug']],
  ['resource policy exchange add', ['slug', 'client-id']],
  ['resource policy runtime remove', ['slug', 'client-id']],
  ['resource policy connect add', ['slug', 'url']],
  ['grant list-user-grants', ['user']],
  ['grant revoke-consent', ['id']],
  ['issuance list', ['user', 'client', 'resource', 'since', 'limit']],
  ['issuance get', ['id']],
  ['key list', []],
  ['key rotate', []],
  ['idp create', ['issuer', 'audience', 'jwks-uri', 'name', 'enabled']],
  ['idp update', ['id', 'name', 'enabled']],
  ['idp refresh-keys', ['id']],
  ['policy list', ['idp-id']],
  ['policy create', ['idp-id', 'client-ids', 'scopes', 'resources']],
  ['policy update', ['id', 'scopes', 'enabled']],
  ['mapping create', ['idp-id', 'federated-subject', 'local-subject']],
  ['mapping delete', ['id']],
  ['key revoke', ['kid', 'dry-run']],
  ['revoke', ['client-id', 'user-id', 'agent', 'kid', 'since', 'until', 'dry-run']],
  ['dcr get', []],
  ['dcr set', ['mode']],
]

test.each(SPECIFIED)('%s has the flags %j', (command, names) => {
  expect(commands.map((each) => each.command)).toContain(command)
  expect(flagsFor(command).map(({ name }) => name)).toEqual(expect.arrayContaining(names))
})

test('operators can contain an incident from the command line: clients, users, the audit trail and the state have commands', () => {
  const names = commands.map(({ command }) => command)
  for (const command of [
    ...['client show', 'client suspend', 'client reactivate'],
    ...['user show', 'user disable', 'user enable', 'user password-link'],
    ...['lockout list', 'lockout delete', 'audit list', 'connection list', 'status', 'stats'],
  ])
    expect(names).toContain(command)
  expect(flagsFor('user update').map(({ name }) => name)).not.toContain('password')
})

test('no command has a duplicate flag, and every flag has a help text', () => {
  for (const { command, flags } of commands) {
    expect(new Set(flags.map(({ name }) => name)).size, command).toBe(flags.length)
    for (const { name, doc } of flags) expect(doc, `${command} --${name}`).toMatch(/^[A-Z].*\.$/)
  }
})

test('path parameters and members without a default are required', () => {
  const required = (command: string) => flagsFor(command).flatMap((flag) => (flag.required ? [flag.name] : []))
  expect(required('user create')).toEqual(['email', 'password', 'name'])
  // A client_id that is a URL needs no name.
  expect(required('client create')).toEqual([])
  expect(required('client update')).toEqual(['id'])
  expect(required('resource create')).toEqual(['slug', 'backend-kind'])
  expect(required('resource policy connect remove')).toEqual(['slug', 'url'])
  expect(required('dcr set')).toEqual(['mode'])
})

test('the type of a flag is derived from its field', () => {
  const kinds = Object.fromEntries(flagsFor('client create').map(({ name, kind }) => [name, kind]))
  expect(kinds).toMatchObject({ name: 'text', 'grant-types': 'list', agent: 'switch', scopes: 'many' })
})

const read = (name: string, values: string[]) =>
  flagsFor('resource create')
    .find((flag) => flag.name === name)
    ?.read?.(values)

test.each([
  ['mcp:read||Read things', { name: 'mcp:read', upstream: '', description: 'Read things' }],
  ['code|repo|Read | write', { name: 'code', upstream: 'repo', description: 'Read | write' }],
  ['code|repo', { name: 'code', upstream: 'repo', description: '' }],
  ['code', { name: 'code', upstream: '', description: '' }],
  ['{"name":"code","groups":["a,b"]}', { name: 'code', groups: ['a,b'] }],
  ['{"name"', '{"name"'],
])('the scope %s is read as name, upstream and description', (text, scope) => {
  expect(read('scopes', [text])).toEqual([scope])
})

test('a description after a colon is refused, because it would become part of the name', () => {
  expect(() => read('scopes', ['read:Read'])).toThrow("write 'read||Read', or 'read:Read||'")
  expect(() => read('scopes', ['read:Read all notes'])).toThrow("'read||Read all notes'")
  expect(read('scopes', ['read:Read||'])).toEqual([{ name: 'read:Read', upstream: '', description: '' }])
  expect(read('scopes', ['mcp:read'])).toEqual([{ name: 'mcp:read', upstream: '', description: '' }])
})

test.each([
  [['everyone'], { mode: 'everyone' }],
  [['restricted'], { mode: 'restricted' }],
  [
    ['groups:staff,ops', 'domains:example.com'],
    { mode: 'restricted', groups: ['staff', 'ops'], email_domains: ['example.com'] },
  ],
  [['everyone', 'users:u_1'], { mode: 'everyone', users: ['u_1'] }],
  [['roles:staff'], { mode: 'restricted', roles: ['staff'] }],
])('the access %j is read as %j', (values, access) => {
  expect(read('access', values)).toEqual(access)
})

test('a scope map is written as scope=upstream pairs', () => {
  expect(read('scope-map', ['a:b,c:d:e', 'f'])).toEqual([
    { name: 'a', upstream: 'b' },
    { name: 'c', upstream: 'd:e' },
    { name: 'f', upstream: '' },
  ])
})

test.each([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
  [true, true],
  ['yes', 'yes'],
])('a switch with %j sends %j: the API takes true and false in a body', (given, sent) => {
  const flags = flagsFor('idp update').filter(({ name }) => name === 'enabled')
  expect(readFlags(flags, { enabled: given }).body).toEqual({ enabled: sent })
})

test.each([
  ['audit list', 'until', '2026-03-01T10:00:00Z', '2026-03-01T10:00:00Z'],
  ['audit export', 'since', '24h', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/],
  ['revoke', 'since', '7d', /Z$/],
  ['issuance list', 'since', '7d', '7d'],
  ['issuance list', 'since', '2026-03-01T10:00:00Z', /^\d+s$/],
])('%s --%s %s is a time, or how long ago it was', (command, name, text, field) => {
  const flags = flagsFor(command)
  const said = readFlags(flags, { [name]: [text] })
  expect({ ...said.query, ...said.body }[name]).toEqual(field instanceof RegExp ? expect.stringMatching(field) : field)
  expect(() => readFlags(flags, { [name]: ['yesterday'] })).toThrow(`--${name} yesterday: write a time such as`)
})
