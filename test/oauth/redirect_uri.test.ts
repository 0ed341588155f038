// Which redirect URI a client may use: the registered one, and on loopback another port.
import { describe, expect, test } from 'vitest'
import { hasRedirectUri } from '../../src/oauth/clients/redirect_uri.ts'
import type { Client } from '../../src/records/client.ts'

type Registered = Parameters<typeof hasRedirectUri>[0]
const client = (redirect_uris: string[], more: Partial<Registered> = {}): Registered => ({
  redirect_uris,
  token_endpoint_auth_method: 'none',
  application_type: 'web',
  registration_source: 'dcr',
  ...more,
})
const may = (registered: string, requested: string, more?: Partial<Registered>) =>
  hasRedirectUri(client(['https://a.example/cb', registered], more), requested)

const PORT = 'http://127.0.0.1:7777/cb'
const NONE = 'http://127.0.0.1/cb'

describe('the port of a loopback redirect URI', () => {
  test.each<[string, Partial<Registered>, anyPort: boolean, anyPortOfNone: boolean]>([
    ['a public client that registered itself', {}, true, true],
    ['a public document client', { registration_source: 'cimd' }, true, true],
    ['a native client of an operator', { registration_source: 'admin', application_type: 'native' }, true, true],
    [
      'a confidential native client',
      { token_endpoint_auth_method: 'client_secret_basic', application_type: 'native' },
      true,
      true,
    ],
    ['a public web client of an operator', { registration_source: 'admin' }, false, true],
    ['a confidential web client', { token_endpoint_auth_method: 'client_secret_basic' }, false, false],
    [
      'a confidential document client',
      { token_endpoint_auth_method: 'private_key_jwt', registration_source: 'cimd' },
      false,
      false,
    ],
  ])('%s', (_who, of, anyPort, anyPortOfNone) => {
    expect(may(PORT, 'http://127.0.0.1:51004/cb', of)).toBe(anyPort)
    expect(may(PORT, NONE, of)).toBe(anyPort)
    expect(may(NONE, 'http://127.0.0.1:51004/cb', of)).toBe(anyPortOfNone)
    for (const registered of [PORT, NONE]) expect(may(registered, registered, of)).toBe(true)
  })

  test.each([
    ['http://[::1]:7777/cb?x=1', 'http://[::1]:1/cb?x=1'],
    ['http://localhost', 'http://localhost:65535'],
    ['http://localhost:3118/callback', 'http://localhost:80/callback'],
  ])('%s also is %s', (registered, requested) => {
    expect(may(registered, requested)).toBe(true)
  })

  test.each([
    'http://127.0.0.1:49152/other',
    'http://127.0.0.1:49152/cb/',
    'http://127.0.0.1:49152/CB',
    'http://127.0.0.1:49152/cb?x=1',
    'http://127.0.0.1:49152/cb#x',
    'http://127.0.0.1:49152/./cb',
    'http://127.0.0.1:49152/%63b',
    'http://127.0.0.1:49152//cb',
    'http://127.0.0.1:49152\\cb',
    'http://localhost:49152/cb',
    'http://[::1]:49152/cb',
    'http://[::ffff:127.0.0.1]:49152/cb',
    'http://127.0.0.2:49152/cb',
    'http://127.1:49152/cb',
    'http://0177.0.0.1:49152/cb',
    'https://127.0.0.1:49152/cb',
    'HTTP://127.0.0.1:49152/cb',
    'http://127.0.0.1:49152@evil.example/cb',
    'http://user@127.0.0.1:49152/cb',
    'http://127.0.0.1.evil.example:49152/cb',
    'http://evil.example:49152/cb',
    'http://127.0.0.1:99999/cb',
    'http://127.0.0.1:0/cb',
    'http://127.0.0.1:049152/cb',
    'http://127.0.0.1:x/cb',
    'http://127.0.0.1:/cb',
    'http://127.0.0.1:1:2/cb',
    'http://127.0.0.1:49152/cb\n',
    'http://127.0.0.1:49152/cb\r\nx: y',
  ])('nothing but the port may differ: %j', (requested) => {
    for (const registered of [PORT, NONE]) expect(may(registered, requested)).toBe(false)
  })

  test('other hosts and schemes match exactly', () => {
    const native: Partial<Client> = { application_type: 'native' }
    for (const [registered, requested] of [
      ['https://a.example/cb', 'https://a.example:8443/cb'],
      ['https://127.0.0.1:7777/cb', 'https://127.0.0.1:49152/cb'],
      ['https://localhost/cb', 'http://localhost/cb'],
      ['com.example.app:/cb', 'com.example.app:1/cb'],
    ] as const)
      expect(may(registered, requested, native)).toBe(false)
  })
})
