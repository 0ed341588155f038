// Clients with keys on the command line: created from a file or with a URL, and given new keys.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type KeyedClient, keySetOf, tryAssertion } from '../support/assertion.ts'
import { envOf, okHere, runHere } from '../support/cli.ts'
import { claimsOf } from '../support/flow.ts'
import { tempFile } from '../support/folder.ts'
import { type IdpKey, idpKey, TestIdp } from '../support/idp.ts'
import { startService, type TestService } from '../support/service.ts'
import { LOOPBACK } from '../support/xaa.ts'

let service: TestService
let env: Record<string, string>
beforeAll(async () => {
  service = await startService(LOOPBACK)
  env = { ...envOf(service), ...LOOPBACK }
})
afterAll(() => service.close())

const CREATE = 'admin client create --name Keyed --grant-types client_credentials --auth-method private_key_jwt'.split(
  ' ',
)

test('a client is created with keys from a file, gets tokens, and can change to new keys or a URL', async () => {
  const [key, next, peer] = [await idpKey(), await idpKey(), await TestIdp.start()]
  const file = (of: IdpKey) => tempFile('keys.json', keySetOf(of))
  const made = JSON.parse(await okHere([...CREATE, '--jwks-file', file(key), '--json'], env))
  expect(made).toMatchObject({ token_endpoint_auth_method: 'private_key_jwt', jwks: keySetOf(key) })
  expect(made).not.toHaveProperty('client_secret')
  const client: KeyedClient = { ...made, key }
  claimsOf(await tryAssertion(service, client))
  const update = ['admin', 'client', 'update', '--id', client.client_id]
  await okHere([...update, '--jwks-file', file(next)], env)
  claimsOf(await tryAssertion(service, client, {}, next))
  await okHere([...update, '--jwks-uri', peer.jwks_uri], env)
  claimsOf(await tryAssertion(service, client, {}, peer.key))
  expect((await tryAssertion(service, client)).status).toBe(401)
})

test('a client is created with the URL of its keys', async () => {
  const peer = await TestIdp.start()
  const made = JSON.parse(await okHere([...CREATE, '--jwks-uri', peer.jwks_uri, '--json'], env))
  claimsOf(await tryAssertion(service, { ...made, key: peer.key }))
})

test('a file with a private key is refused with an error that names the fault, and no client is created', async () => {
  const before = await okHere(['admin', 'client', 'list', '--json'], env)
  const [key] = keySetOf(await idpKey()).keys
  const file = tempFile('keys.json', { keys: [{ ...key, d: 'AAAA' }] })
  const { code, stderr } = await runHere([...CREATE, '--jwks-file', file], env)
  expect(code).not.toBe(0)
  expect(stderr).toContain('jwks.keys[0] contains a private key')
  expect(await okHere(['admin', 'client', 'list', '--json'], env)).toBe(before)
})
