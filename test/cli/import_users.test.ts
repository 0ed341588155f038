// `admin user import`.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { MAX_IMPORTED } from '../../src/records/user_batches.ts'
import { okAdmin } from '../support/admin.ts'
import { envOf, runCli, runHere } from '../support/cli.ts'
import { tempFile } from '../support/folder.ts'
import { addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
let env: Record<string, string>
beforeAll(async () => {
  service = await startService()
  env = envOf(service)
})
afterAll(() => service.close())

const HASH = `$argon2id$v=19$m=1024,t=1,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`
const load = (text: string, ...flags: string[]) =>
  runHere(['admin', 'user', 'import', '-f', tempFile('users', text), '--json', ...flags], env)
const find = (email: string) =>
  okAdmin<Record<string, unknown>[]>(service, 'GET', `/admin/users?email=${encodeURIComponent(email)}`)
const count = async () => (await okAdmin<unknown[]>(service, 'GET', '/admin/users')).length
const lines = (users: readonly object[]) => users.map((user) => JSON.stringify(user)).join('\n')

test('creates users from lines of JSON, with groups and password hashes', async () => {
  const text = `${lines([
    { email: 'ada@example.com', name: 'Ada', groups: ['staff'], password_hash: HASH },
    { email: 'bob@example.com' },
  ])}\n\n`
  const { code, stdout } = await load(text)
  expect([code, JSON.parse(stdout)]).toEqual([0, { users: 2, created: 2, skipped: 0 }])
  expect(await find('ada@example.com')).toMatchObject([{ name: 'Ada', groups: ['staff'] }])
  expect((await service.app.store.findUserByEmail({ email: 'ada@example.com' }))?.password_hash).toBe(HASH)
})

test('creates users from CSV, where an empty cell is an absent member and groups are separated by commas', async () => {
  const text = `\ufeffemail,name,groups,password_hash,email_verified\r\ncsv@example.com,"Lovelace, Ada","staff, ops","${HASH}",false\r\nplain@example.com,,,,\r\n`
  const { code, stdout } = await load(text)
  expect([code, JSON.parse(stdout)]).toEqual([0, { users: 2, created: 2, skipped: 0 }])
  expect(await find('csv@example.com')).toMatchObject([
    { name: 'Lovelace, Ada', groups: ['ops', 'staff'], email_verified: false },
  ])
  expect(await find('plain@example.com')).toMatchObject([{ name: '', groups: [], email_verified: true, role: 'user' }])
})

test('reads standard input', async () => {
  const { code, stdout } = await runCli(
    ['admin', 'user', 'import', '-f', '-'],
    env,
    lines([{ email: 'in@example.com' }]),
  )
  expect([code, stdout]).toEqual([0, 'users=1\ncreated=1\nskipped=0\n'])
})

test('every fault is reported with its line, and nothing is written', async () => {
  const [known, before] = [await addUser(service), await count()]
  const { code, stdout, stderr } = await load(
    [
      '{"email":"good@example.com"}',
      '{"email":"GOOD@example.com"}',
      'email',
      '',
      '{"email":"x","groups":"staff"}',
      '{"email":"y@example.com","password_hash":"$1$md5"}',
      '{"email":"z@example.com","pasword":"x"}',
    ].join('\n'),
  )
  expect([code, stdout]).toEqual([2, ''])
  for (const expected of [
    'line 2: line 1 has the same email',
    'line 3: must be a JSON object',
    'line 5: email must be an email address',
    'line 5: groups must be a list',
    'line 6: password_hash must be an argon2id hash',
    'line 7: ',
  ])
    expect(stderr).toContain(expected)
  const taken = await load(`${lines([{ email: 'good@example.com' }])}\n\n${lines([{ email: known.email }])}`)
  expect([taken.code, taken.stderr]).toEqual([
    2,
    expect.stringContaining('line 3: a user with this email exists already'),
  ])
  expect(await count()).toBe(before)
})

test.each([
  ['a header without email', 'name\nAda\n', 'line 1: the header must have email'],
  ['an unknown column', 'email,shoe\na@example.com,42\n', 'shoe'],
  ['a row with too many cells', 'email\na@example.com,42\n', 'line 2: has 2 fields, the header has 1'],
  ['a quote that is not closed', 'email\n"a@example.com\n', 'line 2: a quote'],
  ['an unquoted hash', `email,password_hash\na@example.com,${HASH}\n`, 'line 2: has 4 fields, the header has 2'],
])('refuses CSV with %s', async (_what, text, message) => {
  const before = await count()
  const { code, stderr } = await load(text)
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
  expect(await count()).toBe(before)
})

test('a fault in a later batch undoes the earlier batches', async () => {
  const known = await addUser(service)
  const before = await count()
  const users = Array.from({ length: MAX_IMPORTED + 1 }, (_, i) => ({ email: `late${i}@example.com` }))
  const { code, stderr } = await load(lines([...users, { email: known.email }]))
  expect([code, stderr]).toEqual([2, expect.stringContaining(`line ${MAX_IMPORTED + 2}: a user with this email`)])
  expect(await count()).toBe(before)
})

test('existing users are skipped on request, so that an import can be repeated', async () => {
  const users = Array.from({ length: MAX_IMPORTED + 20 }, (_, i) => ({ email: `again${i}@example.com` }))
  expect(JSON.parse((await load(lines(users.slice(0, 7)))).stdout)).toEqual({ users: 7, created: 7, skipped: 0 })
  const { code, stdout } = await load(lines(users), '--existing', 'skip')
  expect([code, JSON.parse(stdout)]).toEqual([0, { users: users.length, created: users.length - 7, skipped: 7 }])
})

test('a dry run creates no user', async () => {
  const before = await count()
  const { code, stdout } = await load(lines([{ email: 'dry@example.com' }]), '--dry-run')
  expect([code, JSON.parse(stdout)]).toEqual([0, { users: 1, created: 1, skipped: 0, dry_run: true }])
  expect(await count()).toBe(before)
})

test('an unknown value of --existing is refused', async () => {
  const { code, stderr } = await load(lines([{ email: 'w@example.com' }]), '--existing', 'overwrite')
  expect([code, stderr]).toEqual([2, expect.stringContaining('--existing must be one of refuse, skip')])
})
