// `service try assertion`: the request that it shows gets a token.
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Jwk } from '../../src/records/jwk.ts'
import { envOf, runHere } from '../support/cli.ts'
import { post } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { addClient, addResource, startService, type TestService } from '../support/service.ts'

let service: TestService
let env: Record<string, string>
const folder = tempFolder()
beforeAll(async () => {
  service = await startService()
  env = envOf(service)
})
afterAll(() => service.close())

const file = (name: string, text: string) => {
  writeFileSync(path.join(folder, name), text)
  return path.join(folder, name)
}
const pem = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }).toString()
const ec = (namedCurve = 'P-256') => generateKeyPairSync('ec', { namedCurve }).privateKey
const rsa = (modulusLength = 2048) => generateKeyPairSync('rsa', { modulusLength }).privateKey

const run = async (key: string, ...more: string[]) => {
  const { code, stdout, stderr } = await runHere(['try', 'assertion', '--json', '--key', key, ...more], env)
  expect(code, stderr).toBe(0)
  return JSON.parse(stdout) as {
    header: { alg: string; kid?: string }
    claims: Record<string, unknown>
    client_assertion: string
    jwks: { keys: Jwk[] }
    command: string
  }
}
/** The form that the curl command sends, and where. */
function requestOf(command: string): { url: string; form: Record<string, string> } {
  const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
  expect(words.slice(0, 2)).toEqual(['curl', '-s'])
  const form = words.flatMap((word, i) => (words[i - 1] === '--data-urlencode' ? [word] : []))
  const pair = (text: string) => [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)]
  return { url: words[2] ?? '', form: Object.fromEntries(form.map(pair)) }
}

describe('try assertion prints a command', () => {
  test.each<[string, () => string, string[]]>([
    ['ES256', () => pem(ec()), []],
    ['RS256', () => pem(rsa()), []],
    ['PS256', () => pem(rsa()), ['--alg', 'PS256']],
    ['EdDSA', () => pem(generateKeyPairSync('ed25519').privateKey), []],
    ['ES256', () => JSON.stringify({ ...ec().export({ format: 'jwk' }), kid: 'k1' }), []],
    ['RS256', () => rsa().export({ type: 'pkcs1', format: 'pem' }).toString(), ['--kid', 'k2']],
  ])('that gets a token for a client with the printed key: %s', async (alg, key, more) => {
    const [source, resource] = [file('key', key()), await addResource(service)]
    const client_id = `job-${Math.random()}`
    const flags = ['--client-id', client_id, '--resource', resource.uri, '--scope', 'mcp:read', ...more]
    const { jwks } = await run(source, ...flags)
    const keyed = { client_id, jwks, token_endpoint_auth_method: 'private_key_jwt', secrets: undefined } as const
    await addClient(service, { scope: 'mcp:read' }, keyed)
    const { header, claims, client_assertion, command } = await run(source, ...flags)
    expect(decodeProtectedHeader(client_assertion)).toEqual(header)
    expect(header.alg).toBe(alg)
    expect(claims).toMatchObject({ iss: client_id, sub: client_id, aud: service.issuer })
    const { url, form } = requestOf(command)
    const { status, body } = await post(url, undefined, form)
    expect([status, body['scope']], JSON.stringify(body)).toEqual([200, 'mcp:read'])
    expect((await post(url, undefined, form)).body['error']).toBe('invalid_client')
  })

  test('for another server when one is named', async () => {
    const flags = ['--client-id', 'job', '--issuer', 'https://auth.example.com/']
    const { claims, command } = await run(file('key', pem(ec())), ...flags)
    expect([claims['aud'], requestOf(command).url]).toEqual([
      'https://auth.example.com/',
      'https://auth.example.com/oauth/token',
    ])
  })

  test('as text without --json, and the private key is in neither form', async () => {
    const key = ec()
    const source = file('key', pem(key))
    const { stdout } = await runHere(['try', 'assertion', '--key', source, '--client-id', 'job'], env)
    expect(stdout).toMatch(/"iss": "job"[\s\S]*\ncurl -s http:\S+\/oauth\/token /)
    const { d = '' } = key.export({ format: 'jwk' })
    for (const text of [stdout, JSON.stringify(await run(source, '--client-id', 'job'))]) expect(text).not.toContain(d)
  })
})

test.each<[string, () => string, string[], string]>([
  ['a public key', () => ec().export({ format: 'jwk' }).x ?? '', [], 'must hold a private key, as PEM or JWK'],
  ['a symmetric key', () => '{"kty":"oct","k":"AAAA"}', [], 'must hold a private key, as PEM or JWK'],
  ['another curve', () => pem(ec('P-384')), [], 'an EC key of P-256'],
  ['a short RSA key', () => pem(rsa(1024)), [], 'an RSA key of at least 2048 bits'],
  ['an algorithm that the key cannot make', () => pem(ec()), ['--alg', 'RS256'], '--alg must be one of ES256'],
  [
    'an encrypted key',
    () => ec().export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' }).toString(),
    [],
    'holds an encrypted key',
  ],
])('%s is a usage error', async (_, key, more, message) => {
  const words = ['try', 'assertion', '--key', file('bad', key()), '--client-id', 'job', ...more]
  const { code, stdout, stderr } = await runHere(words, env)
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toContain(message)
})

test('a missing file is a usage error', async () => {
  const { code, stderr } = await runHere(['try', 'assertion', '--key', '/nowhere.pem', '--client-id', 'job'], env)
  expect([code, stderr]).toEqual([2, expect.stringContaining('/nowhere.pem cannot be read')])
})
