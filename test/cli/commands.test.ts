import { existsSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { readBuild } from '../../src/lib/build.ts'
import { okCli, okHere, runCli, runHere } from '../support/cli.ts'
import { tempFile, tempFolder } from '../support/folder.ts'

const inFolder = () => {
  const folder = tempFolder()
  return {
    folder,
    env: {
      SERVICE_STORAGE_SQLITE_PATH: path.join(folder, 'service.db'),
      SERVICE_SIGNING_KEY_PATH: path.join(folder, 'keys'),
    },
  }
}

test('version prints version, commit and build time, as lines or as JSON', async () => {
  const { version, commit, built_at } = readBuild()
  expect(await okCli(['version'])).toBe(`version=${version}\ncommit=${commit}\nbuilt_at=${built_at}\n`)
  for (const args of [
    ['version', '--json'],
    ['--json', 'version'],
  ])
    expect(JSON.parse(await okHere(args))).toEqual({ version, commit, built_at })
})

test.each([
  [['--help'], 'serve'],
  [['serve', '--help'], 'SIGHUP'],
  [['migrate', '--help'], 'migrations'],
  [['version', '--help'], 'build time'],
  [['purge', '--help'], '--timeout'],
  [['admin', '--help'], 'client'],
  [['admin', 'client', '--help'], 'rotate-secret'],
  [['admin', 'client', 'create', '--help'], '--redirect-uris'],
  [['admin', 'resource', 'policy', '--help'], 'exchange'],
  [['admin', 'resource', 'policy', 'connect', 'remove', '--help'], '--url'],
  [['admin', 'fronting', 'create', '--help'], '--scope-map'],
])('%j shows help and exits 0', async (args, word) => {
  const { code, stdout: help } = await runHere(args)
  expect(code).toBe(0)
  for (const text of [word, '--config', '--json', '--help']) expect(help).toContain(text)
})

test('--version prints the version alone', async () => {
  expect(await okHere(['--version'])).toBe(`${readBuild().version}\n`)
})

test.each([['admin', 'client', 'create'], ['admin', 'client'], ['purge'], []])(
  'help %s %s %s prints the help of that command',
  async (...words) => {
    const [asked, own] = [await runHere(['help', ...words]), await runHere([...words, '--help'])]
    expect(asked).toEqual(own)
    expect([asked.code, asked.stdout]).toEqual([0, expect.stringContaining(`Usage: service ${words.join(' ')}`.trim())])
  },
)

test.each([
  ['a missing flag', ['admin', 'client', 'delete'], 2, 'invalid_request', '--id or --name is required'],
  ['an unknown command', ['admin', 'client', 'frobnicate'], 2, 'invalid_request', "unknown command 'frobnicate'"],
  ['a missing command', ['admin', 'client'], 2, 'invalid_request', 'add --help'],
  ['a missing file', ['migrate', '--config', '/nowhere.yaml'], 1, 'invalid_configuration', '/nowhere.yaml'],
  ['an unknown format', ['admin', 'user', 'list', '--output', 'csv'], 2, 'invalid_request', 'table, wide, text'],
])('with --json, %s is one JSON object on standard error', async (_what, args, exit, error, description) => {
  for (const words of [
    [...args, '--json'],
    ['--json', ...args],
  ]) {
    const { code, stdout, stderr } = await runHere(words)
    expect([code, stdout]).toEqual([exit, ''])
    expect(JSON.parse(stderr)).toMatchObject({ error, error_description: expect.stringContaining(description) })
  }
})

test.each([
  ['an unknown command', ['frobnicate'], "unknown command 'frobnicate'"],
  ['an unknown group', ['admin', 'frobnicate'], "unknown command 'frobnicate'"],
  ['an unknown subcommand', ['admin', 'user', 'frobnicate'], "unknown command 'frobnicate'"],
  ['a typo', ['admin', 'user', 'creat'], 'Did you mean create?'],
  ['an unknown flag', ['admin', 'user', 'list', '--verbose'], "unknown option '--verbose'"],
  ['a flag without its value', ['admin', 'user', 'delete', '--id'], 'argument missing'],
  ['an argument nobody asked for', ['admin', 'user', 'list', 'all'], 'too many arguments'],
  ['a file where - was meant', ['admin', 'user', 'create', 'item.json'], 'did you mean -?'],
  ['an unknown shell', ['completion', 'csh'], 'bash, zsh, fish'],
])('%s is a usage error with exit code 2 and a hint', async (_what, args, message) => {
  const { code, stdout, stderr } = await runHere(args)
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toMatch(/^error: /)
  expect(stderr).toContain(message)
})

test('a missing configuration file is an error that names it', async () => {
  const { code, stderr } = await runHere(['admin', 'user', 'list', '--config', '/nowhere.yaml'])
  expect([code, stderr.startsWith('error: /nowhere.yaml ')]).toEqual([1, true])
})

test('an error is on standard error and sets the exit code', async () => {
  const { code, stdout, stderr } = await runCli(['admin', 'frobnicate'])
  expect([code, stdout, stderr.split('\n')[0]]).toEqual([2, '', "error: unknown command 'frobnicate'"])
})

test('every missing flag is named on its own line', async () => {
  const { code, stderr } = await runHere(['admin', 'user', 'create', '--email', 'ada@example.com'])
  expect([code, stderr]).toEqual([2, 'error: --password is required\nerror: --name is required\n'])
})

test.each(['serve', 'migrate', 'admin user list'])(
  '%s refuses a configuration that cannot be used, naming every key on a line of its own',
  async (command) => {
    const file = tempFile('service.yaml', 'dcr: { mode: closed }\nstorage: { driver: mysql }\n')
    const { code, stderr } = await runHere([...command.split(' '), '--config', file])
    expect(code).toBe(1)
    const lines = stderr.split('\n').filter((line) => line.startsWith('error: '))
    expect(lines).toHaveLength(2)
    expect(lines[0]).toMatch(/^error: storage\.driver /)
    expect(lines[1]).toMatch(/^error: dcr\.mode /)
  },
)

test('migrate creates the database, names the applied migrations, and applies nothing the second time', async () => {
  const { env } = inFolder()
  expect(await okHere(['migrate'], env)).toMatch(/^applied=001_\w+(,\d{3}_\w+)*\n$/)
  expect(existsSync(env.SERVICE_STORAGE_SQLITE_PATH)).toBe(true)
  expect(await okHere(['migrate'], env)).toBe('applied=\n')
  expect(JSON.parse(await okHere(['migrate', '--json'], env))).toEqual({ applied: [] })
})
