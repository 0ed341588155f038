// Admin commands against a server elsewhere: by flags, and by a profile.
import { once } from 'node:events'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { envOf, okHere, runHere } from '../support/cli.ts'
import { tempFile, tempFolder } from '../support/folder.ts'
import { cert, key } from '../support/localhost_certificate.ts'
import { addClient, startService, type TestService } from '../support/service.ts'

let service: TestService
let admin: string
/** The same admin API behind a proxy with TLS, below a path. */
let secure: string
let keyFile: string
let caFile: string
const proxy = createServer({ key, cert }, (incoming, outgoing) => {
  const { method, headers, url = '' } = incoming
  const path = url.replace(/^\/iam/, '')
  const forwarded = request(`${admin}${path}`, { method, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
    answer.pipe(outgoing)
  })
  incoming.pipe(forwarded)
})

const privateFile = (name: string, text: string) => {
  const file = tempFile(name, text)
  chmodSync(file, 0o600)
  return file
}

beforeAll(async () => {
  service = await startService()
  const { SERVICE_ADMIN_ADDRESS = '', SERVICE_ADMIN_API_KEY = '' } = envOf(service)
  admin = `http://${SERVICE_ADMIN_ADDRESS}`
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  secure = `https://localhost:${(proxy.address() as AddressInfo).port}/iam`
  keyFile = privateFile('key', `${SERVICE_ADMIN_API_KEY}\n`)
  caFile = tempFile('ca.pem', cert)
})
afterAll(async () => {
  proxy.close()
  proxy.closeAllConnections()
  await service.close()
})

// Without a configuration: the machine of an operator has none.
const remote = (args: string, env: Record<string, string> = {}) => runHere(['admin', ...args.split(' ')], env)

test('a command runs on the server that --admin-url names, with the key of a file and a CA file', async () => {
  const { client_id } = await addClient(service)
  for (const where of [`--admin-url ${admin}`, `--admin-url ${secure} --ca-file ${caFile}`]) {
    const { code, stdout } = await remote(`client list --json ${where} --admin-key-file ${keyFile}`)
    expect([code, JSON.parse(stdout).map((each: { client_id: string }) => each.client_id)]).toEqual([0, [client_id]])
  }
  const made = await remote(
    `client create --name Far --redirect-uris https://far.example.com/cb --admin-url ${admin} --json`,
    {
      SERVICE_ADMIN_API_KEY: service.app.config.admin.api_key ?? '',
    },
  )
  expect(made.code).toBe(0)
  expect(await service.app.store.findClient(JSON.parse(made.stdout))).toMatchObject({ client_name: 'Far' })
})

test('a profile names URL, key and CA; diff and export use the configuration of that server', async () => {
  const home = tempFolder()
  const folder = join(home, '.config', 'service')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'far.key'), service.app.config.admin.api_key ?? '', { mode: 0o600 })
  writeFileSync(join(folder, 'ca.pem'), cert)
  writeFileSync(
    join(folder, 'profiles.yaml'),
    `far: { url: '${secure}', key_file: ~/.config/service/far.key, ca_file: ~/.config/service/ca.pem }\n`,
  )
  const env = { HOME: home }
  const text = await okHere(['admin', '--profile', 'far', 'export'], env)
  expect(text).toContain('clients:')
  const { code, stdout } = await runHere(['admin', 'diff', '--profile', 'far', '-f', tempFile('setup.yaml', text)], env)
  expect([code, stdout]).toEqual([0, ''])
  const unknown = await runHere(['admin', '--profile', 'near', 'client', 'list'], env)
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('has no profile near; it has: far')])
})

test.each([
  [
    'an unencrypted URL of another machine',
    () => `--admin-url http://auth.example.com --admin-key-file ${keyFile}`,
    'https',
  ],
  ['a key that others can read', () => `--admin-url ${admin} --admin-key-file ${tempFile('open', 'k')}`, 'chmod 600'],
  ['no key', () => `--admin-url ${admin}`, 'the key is missing'],
  ['a missing key file', () => `--admin-url ${admin} --admin-key-file /nowhere`, 'cannot be read'],
  ['a key file without a server', () => `--admin-key-file ${keyFile}`, 'need --admin-url or --profile'],
  ['a URL with a query', () => `--admin-url ${admin}?a=b --admin-key-file ${keyFile}`, 'no query'],
])('%s is refused before anything is sent', async (_, flags, message) => {
  const { code, stderr } = await remote(`client list ${flags()}`)
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
})

test('a server that does not answer, a certificate that is not trusted and a wrong key are failures, never work on a local database', async () => {
  const nobody = await remote(`client list --admin-url http://127.0.0.1:2 --admin-key-file ${keyFile}`)
  expect([nobody.code, nobody.stderr]).toEqual([1, 'error: no server answers at http://127.0.0.1:2\n'])
  const untrusted = await remote(`client list --admin-url ${secure} --admin-key-file ${keyFile}`)
  expect([untrusted.code, untrusted.stderr]).toEqual([1, expect.stringContaining('certificate')])
  const wrong = await remote(`client list --admin-url ${admin} --admin-key-file ${privateFile('wrong', 'wrong')}`)
  expect([wrong.code, wrong.stderr]).toEqual([5, expect.stringContaining('another admin.api_key')])
})
