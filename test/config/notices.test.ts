// The warnings of a start.
import { describe, expect, test } from 'vitest'
import { idleTimeoutWarnings, warningsOf } from '../../src/config/notices.ts'
import type { Config } from '../../src/config/schema.ts'
import { load, over, PRODUCTION } from './loading.ts'

const SOUND = over(PRODUCTION, { admin: { address: '127.0.0.1:9001' } })
const warnings = (content?: object, dcrMode: Config['dcr']['mode'] = 'admin_only') =>
  warningsOf(load(content).config, dcrMode)

describe('warnings of a start', () => {
  test('a complete configuration starts without warnings', () => {
    expect(warnings(SOUND)).toEqual([])
  })

  test('open registration causes a warning, by the mode that is in force', () => {
    expect(warnings(SOUND, 'open')).toEqual([expect.stringContaining('dcr.mode')])
    expect(warnings(over(SOUND, { dcr: { mode: 'open' } }), 'admin_only')).toEqual([])
  })

  test('device codes with open registration cause a warning of their own', () => {
    const device = over(SOUND, { device: { enabled: true } })
    expect(warnings(device)).toEqual([])
    expect(warnings(device, 'open')).toEqual([
      expect.stringContaining('dcr.mode is open'),
      expect.stringMatching(/^device\.enabled with dcr\.mode open: .*\(phishing\)/),
    ])
  })

  test.each([':9001', '0.0.0.0:9001', '[::]:9001'])('an admin listener at %s causes a warning', (address) => {
    expect(warnings(over(SOUND, { admin: { address } }))).toEqual([expect.stringContaining('admin.address')])
    expect(warnings(over(SOUND, { admin: { address, enabled: false } }))).toEqual([])
    expect(warnings({ admin: { address } }).join()).not.toContain('admin.address')
  })

  test('a whole network as trusted proxies causes a warning', () => {
    const at = (...trusted_proxies: string[]) => warnings(over(SOUND, { server: { trusted_proxies } }))
    const warning = [
      expect.stringMatching(/^server\.trusted_proxies trusts .*: every host there can forge the address/),
    ]
    for (const range of ['10.0.0.0/8', '172.16.0.0/12', '0.0.0.0/0', 'fd00::/8', '::/0'])
      expect(at(range)).toEqual(warning)
    expect(at('10.1.2.3', '10.1.0.0/16', 'fd00:1:2::/48', '::1')).toEqual([])
  })

  test('a public issuer without TLS causes a warning', () => {
    expect(warnings(over(SOUND, { server: { issuer: 'http://auth.example.com' } }))).toEqual([
      expect.stringContaining('server.issuer'),
    ])
  })

  test('a keyfile store with a shared database causes a warning, and keys in the database do not', () => {
    const storage = { driver: 'postgres', postgres: { dsn: 'postgres://db.example.com/service' } }
    expect(warnings(over(SOUND, { storage }))).toEqual([expect.stringContaining('signing.key_store: postgres_key')])
    const sealed = { signing: { key_store: 'postgres_key' }, data_encryption: { driver: 'aes_master' } }
    const env = { SERVICE_DATA_ENCRYPTION_KEY: 'ab'.repeat(32) }
    expect(warningsOf(load(over(SOUND, { storage, ...sealed }), env).config, 'admin_only')).toEqual([])
  })

  test('a start without configuration warns of an ephemeral secret and a closed admin API', () => {
    const said = warnings()
    expect(said).toEqual(
      expect.arrayContaining([expect.stringContaining('session.secret'), expect.stringContaining('admin.api_key')]),
    )
  })

  test('an oidc.redirect_uri that is not the callback of this service causes a warning', () => {
    const oidc = { enabled: true, issuer: 'https://id.example', client_id: 'c', client_secret: 's' }
    const at = (redirect_uri: string) => warnings(over(SOUND, { oidc: { ...oidc, redirect_uri } }))
    const { issuer } = load(SOUND).config.server
    expect(at(`${issuer}/oidc/callback`)).toEqual([])
    expect(at('https://elsewhere.example.com/oidc/callback')).toEqual([expect.stringContaining('oidc.redirect_uri')])
  })

  test('no warning contains a secret', () => {
    expect(warnings(SOUND, 'open').join()).not.toContain('k3yXw9')
  })
})

describe('server.idle_timeout with the native engine', () => {
  const found = (content: object, isNative: boolean, env = {}) => {
    const { config, given } = load(content, env)
    return idleTimeoutWarnings(config, given, isNative)
  }
  const hint = /^server\.idle_timeout has no effect with uWebSockets\.js, .* 8 to 12 s: .*deploy\.md#connections/

  test.each([
    ['in the file', { server: { idle_timeout: '60s' } }, {}],
    ['in the environment', {}, { SERVICE_SERVER_IDLE_TIMEOUT: '5s' }],
    ['to its default', { server: { idle_timeout: '120s' } }, {}],
  ])('is a warning when it is set %s', (_, content, env) => {
    expect(found(content, true, env)).toEqual([expect.stringMatching(hint)])
    expect(found(content, false, env)).toEqual([])
  })

  test.each([
    ['it is not set', {}],
    ['it is null', { server: { idle_timeout: null } }],
    ['it is what the engine does', { server: { idle_timeout: '10s' } }],
  ])('is none when %s', (_, content) => {
    expect(found(content, true)).toEqual([])
  })
})
