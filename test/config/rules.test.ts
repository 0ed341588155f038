// Every rule between keys: a configuration that breaks it, and the reported key.
import { describe, expect, test } from 'vitest'
import type { Env } from '../../src/config/env.ts'
import { RULES } from '../../src/config/rules.ts'
import { over, PRODUCTION, problemsOf } from './loading.ts'

interface Case {
  keys: string
  when: string
  bad: Record<string, unknown>
  env?: Env
  production?: boolean
}

const HEX_KEY = '0123456789abcdef'.repeat(4)
const OTHER_HEX_KEY = '123456789abcdef0'.repeat(4)
const apiKey = { name: 'a', sha256: HEX_KEY, capability: 'read' }
const TRANSIT = { address: 'https://vault.example.com', token: 't' }
const ENCRYPT = { address: 'https://vault.example.com', auth_method: 'token', token_env: 'T' }
const OIDC = {
  enabled: true,
  issuer: 'https://id.example.com',
  client_id: 'c',
  client_secret: 's',
  redirect_uri: 'https://auth.example.com/oidc/callback',
}
const { enabled: _, ...MEMBERS } = OIDC
const ACME = { ...MEMBERS, slug: 'acme', redirect_uri: 'https://auth.example.com/oidc/callback/acme' }
const mint = (slug: string, uri: string) => ({ slug, uri, backend_kind: 'mint' })
const provider = {
  slug: 'p',
  display_name: 'P',
  protocol: 'oauth',
  config_data: {
    client_id: 'x',
    client_secret_ref: 'CONNECTOR_X',
    authorize_url: 'https://up.example.com/authorize',
    token_url: 'https://up.example.com/token',
  },
}
const plain = { ...provider, config_data: { ...provider.config_data, token_url: 'http://up.example.com/token' } }

const CASES: Case[] = [
  ...[
    'https://auth.example.com/',
    'https://auth.example.com?a=b',
    'https://auth.example.com#a',
    'https://auth.example.com?',
    'https://user@auth.example.com',
    'https://:pass@auth.example.com',
    'https://auth.example.com/tenant/',
    'https://auth.example.com/a`b',
    'https://auth.example.com/a/../b',
    'https://auth.example.com/%7euser',
    'https://AUTH.example.com',
    'https://auth.example.com:443',
  ].map((issuer) => ({
    keys: 'server.issuer',
    when: `it is ${issuer}`,
    bad: { server: { issuer } },
    production: true,
  })),
  ...['9000', ':0', ':65536', 'localhost', 'a:b:90', ':9000x', 'a b:90'].map((address) => ({
    keys: 'server.address',
    when: `it is ${address}`,
    bad: { server: { address } },
  })),
  {
    keys: 'server.front_threads, server.http_engine',
    when: 'several threads are to serve with node:http',
    bad: { server: { front_threads: 2, http_engine: 'node' } },
  },
  { keys: 'admin.address', when: 'it has no port', bad: { admin: { address: 'localhost' } } },
  ...['', 'http://admin.example.com/mcp', 'https://admin.example.com/mcp?x'].map((url) => ({
    keys: 'admin.mcp.url',
    when: `agents have tools and it is "${url}"`,
    bad: { admin: { mcp: { enabled: true, url } } },
  })),
  ...['', 'http://admin.example.com', 'https://admin.example.com/page'].map((url) => ({
    keys: 'admin.sign_in.url',
    when: `people sign in and it is "${url}"`,
    bad: { admin: { sign_in: { enabled: true, url } }, oidc: OIDC },
  })),
  ...[[], ['unknown']].map((providers) => ({
    keys: 'admin.sign_in.providers',
    when: `people sign in and it is [${providers}]`,
    bad: { admin: { sign_in: { enabled: true, url: 'https://admin.example.com', providers } }, oidc: OIDC },
  })),
  {
    keys: 'server.issuer_trailing_slash',
    when: 'the issuer has a path',
    bad: { server: { issuer: 'http://localhost:9000/auth', issuer_trailing_slash: true } },
  },
  {
    keys: 'server.trusted_proxies',
    when: 'one is a name',
    bad: { server: { trusted_proxies: ['10.0.0.0/8', 'proxy'] } },
  },
  {
    keys: 'server.trusted_proxies',
    when: 'a range is too long',
    bad: { server: { trusted_proxies: ['10.0.0.0/33'] } },
  },
  {
    keys: 'admin.address, server.address',
    when: 'both are the same',
    bad: { admin: { address: ':7000' }, server: { address: ':7000' } },
  },
  { keys: 'session.secret', when: 'it is empty', bad: { session: { secret: '' } }, production: true },
  {
    keys: 'session.secret',
    when: 'it is a well-known value',
    bad: { session: { secret: `changeme${'0'.repeat(32)}` } },
    production: true,
  },
  {
    keys: 'session.secret',
    when: 'it is long and still nothing to guess',
    bad: { session: { secret: 'abcd'.repeat(10) } },
    production: true,
  },
  {
    keys: 'session.secrets',
    when: 'one of them is nothing to guess',
    bad: { session: { secret: '', secrets: [PRODUCTION.session.secret, 'abcd'.repeat(10)] } },
    production: true,
  },
  {
    keys: 'session.secret, session.secrets',
    when: 'both are set',
    bad: { session: { secret: PRODUCTION.session.secret, secrets: [PRODUCTION.session.secret] } },
  },
  { keys: 'session.secure', when: 'it is false', bad: { session: { secure: false } }, production: true },
  {
    keys: 'session.same_site, session.secure',
    when: 'cookies would go to other sites in clear',
    bad: { session: { same_site: 'none', secure: false } },
  },
  ...['a b', '', 'a;b', 'a=b'].map((cookie_name) => ({
    keys: 'session.cookie_name',
    when: `it is "${cookie_name}"`,
    bad: { session: { cookie_name } },
  })),
  { keys: 'admin.api_key', when: 'it is empty', bad: { admin: { api_key: '' } }, production: true },
  {
    keys: 'admin.api_keys',
    when: 'a name comes twice',
    bad: { admin: { api_keys: [apiKey, { ...apiKey, sha256: OTHER_HEX_KEY }] } },
  },
  {
    keys: 'admin.api_keys',
    when: 'a key comes twice',
    bad: { admin: { api_keys: [apiKey, { ...apiKey, name: 'b', sha256: HEX_KEY.toUpperCase() }] } },
  },
  { keys: 'admin.api_key', when: 'it is short', bad: { admin: { api_key: 'k3yXw9-01234567' } }, production: true },
  {
    keys: 'admin.api_key',
    when: 'it is a well-known value',
    bad: { admin: { api_key: 'Password-0123456789' } },
    production: true,
  },
  { keys: 'storage.sqlite.path', when: 'it is empty', bad: { storage: { sqlite: { path: '' } } } },
  { keys: 'storage.postgres.dsn', when: 'it is empty', bad: { storage: { driver: 'postgres' } } },
  {
    keys: 'storage.postgres.min_conns',
    when: 'it is above max_conns',
    bad: { storage: { postgres: { min_conns: 6, max_conns: 5 } } },
  },
  { keys: 'signing.key_store', when: 'it is postgres', bad: { signing: { key_store: 'postgres' } } },
  { keys: 'signing.key_path', when: 'it is empty', bad: { signing: { key_path: '' } } },
  {
    keys: 'signing.key_store, storage.driver',
    when: 'keys would be in a database that is not used',
    bad: { signing: { key_store: 'postgres_key' }, data_encryption: { driver: 'aes_master' } },
    env: { SERVICE_DATA_ENCRYPTION_KEY: HEX_KEY },
  },
  {
    keys: 'signing.key_store, data_encryption.driver',
    when: 'keys would be stored in clear',
    bad: {
      signing: { key_store: 'postgres_key' },
      storage: { driver: 'postgres', postgres: { dsn: 'postgres://localhost/x' } },
    },
  },
  {
    keys: 'signing.secretstore_transit.address',
    when: 'it is empty',
    bad: { signing: { key_store: 'secretstore_transit', secretstore_transit: { token: 't' } } },
  },
  ...[
    { ...TRANSIT, token: '' },
    { ...TRANSIT, approle: { role_id: 'r', secret_id: 's' } },
  ].map((secretstore_transit, i) => ({
    keys: 'signing.secretstore_transit.token, signing.secretstore_transit.approle',
    when: ['neither is set', 'both are set'][i] as string,
    bad: { signing: { key_store: 'secretstore_transit', secretstore_transit } },
  })),
  {
    keys: 'signing.secretstore_transit.approle.role_id, signing.secretstore_transit.approle.secret_id',
    when: 'one is missing',
    bad: {
      signing: {
        key_store: 'secretstore_transit',
        secretstore_transit: { ...TRANSIT, token: '', approle: { role_id: 'r' } },
      },
    },
  },
  ...[
    { signing: { key_store: 'secretstore_transit', secretstore_transit: { ...TRANSIT, address: 'http://v.example' } } },
    {
      data_encryption: {
        driver: 'secretstore_transit_encrypt',
        secretstore_transit_encrypt: { ...ENCRYPT, address: 'http://v.example' },
      },
    },
  ].map((bad) => ({
    keys: 'signing.secretstore_transit.address, data_encryption.secretstore_transit_encrypt.address',
    when: `tokens of the store of ${Object.keys(bad)} would travel in clear`,
    bad,
    env: { T: 't' },
    production: true,
  })),
  { keys: 'dcr.approved_redirects', when: 'there is none', bad: { dcr: { mode: 'approved_redirects' } } },
  ...[
    'javascript',
    'JavaScript',
    'data',
    'file',
    'blob',
    'vbscript',
    'about',
    'http',
    'https',
    'ws',
    'wss',
    '*',
    'cursor:',
    'cursor://x',
    '',
    'java*',
  ].map((scheme) => ({
    keys: 'dcr.redirect_schemes',
    when: `it lists "${scheme}"`,
    bad: { dcr: { redirect_schemes: [scheme] } },
  })),
  { keys: 'cimd.require_https', when: 'it is false', bad: { cimd: { require_https: false } }, production: true },
  {
    keys: 'cimd.allow_private_addresses',
    when: 'it is true',
    bad: { cimd: { allow_private_addresses: true } },
    production: true,
  },
  ...['issuer', 'client_id', 'client_secret', 'redirect_uri'].map((key) => ({
    keys: `oidc.${key}`,
    when: 'it is empty',
    bad: { oidc: { ...OIDC, [key]: '' } },
  })),
  ...['issuer', 'redirect_uri'].map((key) => ({
    keys: `oidc.${key}`,
    when: 'it is not https',
    bad: { oidc: { ...OIDC, [key]: 'http://id.example.com' } },
    production: true,
  })),
  ...['?a=b', '#a'].map((end) => ({
    keys: 'oidc.redirect_uri',
    when: `it ends in ${end}`,
    bad: { oidc: { ...OIDC, redirect_uri: `https://auth.example.com/oidc/callback${end}` } },
  })),
  ...['issuer', 'client_id', 'client_secret', 'redirect_uri'].map((key) => ({
    keys: `oidc.providers.${key}`,
    when: 'it is empty',
    bad: { oidc: { providers: [{ ...ACME, [key]: '' }] } },
  })),
  ...['issuer', 'redirect_uri'].map((key) => ({
    keys: `oidc.providers.${key}`,
    when: 'it is not https',
    bad: { oidc: { providers: [{ ...ACME, [key]: 'http://id.example.com' }] } },
    production: true,
  })),
  {
    keys: 'oidc.providers.redirect_uri',
    when: 'it has a query',
    bad: { oidc: { providers: [{ ...ACME, redirect_uri: `${ACME.redirect_uri}?a=b` }] } },
  },
  {
    keys: 'oidc.providers.connector_id',
    when: 'it would add a parameter',
    bad: { oidc: { providers: [{ ...ACME, connector_id: 'ldap&prompt=none' }] } },
  },
  {
    keys: 'webauthn.rp_id',
    when: 'it is not a domain above the host of the issuer',
    bad: { webauthn: { rp_id: 'example.org' } },
  },
  {
    keys: 'admin.sign_in.local',
    when: 'sign-in of people is off',
    bad: { admin: { sign_in: { local: true } } },
  },
  {
    keys: 'oidc.providers',
    when: 'two providers have one callback',
    bad: { oidc: { ...OIDC, providers: [{ ...ACME, redirect_uri: OIDC.redirect_uri }] } },
  },
  {
    keys: 'oidc.connector_id',
    when: 'it would add a parameter',
    bad: { oidc: { ...OIDC, connector_id: 'ldap&prompt=none' } },
  },
  ...[undefined, 'abc', `${HEX_KEY.slice(1)}g`, `${HEX_KEY}00`, '0'.repeat(64)].map((key) => ({
    keys: 'data_encryption.aes_master.key_env',
    when: `the variable holds ${key}`,
    bad: { data_encryption: { driver: 'aes_master' } },
    env: { SERVICE_DATA_ENCRYPTION_KEY: key },
  })),
  ...[HEX_KEY, 'abc'].map((old) => ({
    keys: 'data_encryption.aes_master.old_key_env',
    when: old === HEX_KEY ? 'it holds the current key' : 'it holds no key',
    bad: { data_encryption: { driver: 'aes_master' } },
    env: { SERVICE_DATA_ENCRYPTION_KEY: HEX_KEY, SERVICE_DATA_OLD_KEY: old },
  })),
  ...(
    [
      ['address', 'it is empty', { ...ENCRYPT, address: '' }],
      ['auth_method', 'it is empty', { ...ENCRYPT, auth_method: '' }],
      ['token_env', 'the variable is not set', { ...ENCRYPT, token_env: 'UNSET' }],
      ['approle', 'a variable is not named', { ...ENCRYPT, auth_method: 'approle', approle: { role_id_env: 'T' } }],
    ] as const
  ).map(([key, when, secretstore_transit_encrypt]) => ({
    keys: `data_encryption.secretstore_transit_encrypt.${key}`,
    when,
    bad: { data_encryption: { driver: 'secretstore_transit_encrypt', secretstore_transit_encrypt } },
    env: { T: 't' },
  })),
  {
    keys: 'connect.state_secret',
    when: 'it is the session secret',
    bad: { connect: { state_secret: PRODUCTION.session.secret } },
    production: true,
  },
  ...['http://auth.example.com', ''].map((redirect_base_url) => ({
    keys: 'connect.redirect_base_url',
    when: `it is "${redirect_base_url}"`,
    bad: { connect: { redirect_base_url } },
  })),
  {
    keys: 'observability.metrics.otel_endpoint',
    when: 'it is empty',
    bad: { observability: { metrics: { provider: 'both' } } },
  },
  ...['metrics', '', '/a b', '/a?b'].map((path) => ({
    keys: 'observability.metrics.path',
    when: `it is "${path}"`,
    bad: { observability: { metrics: { path } } },
  })),
  {
    keys: 'observability.logging.outputs.otel_endpoint',
    when: 'it is empty',
    bad: { observability: { logging: { outputs: { otel: true } } } },
  },
  {
    keys: 'observability.tracing.endpoint',
    when: 'it is empty',
    bad: { observability: { tracing: { enabled: true } } },
  },
  {
    keys: 'resources',
    when: 'two have one slug',
    bad: { resources: [mint('a', 'https://a.example.com'), mint('A', 'https://b.example.com')] },
  },
  {
    keys: 'resources',
    when: 'two have one uri',
    bad: { resources: [mint('a', 'https://a.example.com'), mint('b', 'https://a.example.com')] },
  },
  {
    keys: 'resources',
    when: 'one names a provider that is not there',
    bad: { resources: [{ slug: 'a', backend_kind: 'broker', broker_provider_slug: 'gone' }] },
  },
  { keys: 'broker_providers', when: 'one is asked without TLS', bad: { broker_providers: [plain] } },
  { keys: 'broker_providers', when: 'two have one slug', bad: { broker_providers: [provider, provider] } },
]

const problems = ({ bad, env, production }: Case) => problemsOf(production ? over(PRODUCTION, bad) : bad, env)

test.each(CASES)('only $keys is reported when $when', (row) => {
  expect(problems(row).map((problem) => problem.key)).toEqual([row.keys])
})

test('every rule has a configuration in this file that breaks it', () => {
  const messages = CASES.flatMap((row) => problems(row).map(({ key, message }) => `${key} ${message}`))
  // The name of a variable, which some messages end with, is not part of the rule.
  const broken = new Set(messages.map((message) => message.replace(/ \(it names \w+\)$/, '')))
  expect(RULES.map((rule) => `${rule.keys.join(', ')} ${rule.message}`).filter((rule) => !broken.has(rule))).toEqual([])
})

describe('configurations that break no rule', () => {
  const fine: [string, Record<string, unknown>, Env?][] = [
    ['nothing at all', {}],
    ['a public issuer with its secrets', PRODUCTION],
    ['an issuer with a path', over(PRODUCTION, { server: { issuer: 'https://example.com/tenant' } })],
    [
      'a public issuer without an admin key when there is no admin listener',
      over(PRODUCTION, { admin: { enabled: false, api_key: '' } }),
    ],
    [
      'a public issuer whose only admin keys have names',
      over(PRODUCTION, { admin: { api_key: '', api_keys: [apiKey] } }),
    ],
    ['an unusable admin address when there is no admin listener', { admin: { enabled: false, address: 'nowhere' } }],
    ['addresses of one host', { server: { address: '127.0.0.1:9000' }, admin: { address: '[::1]:9000' } }],
    [
      'plain http on this machine',
      { server: { issuer: 'http://127.0.0.1:9000' }, cimd: { require_https: false, allow_private_addresses: true } },
    ],
    ['cookies for other sites over https', { session: { same_site: 'none', secure: true } }],
    [
      'two different data keys',
      { data_encryption: { driver: 'aes_master' } },
      { SERVICE_DATA_ENCRYPTION_KEY: HEX_KEY, SERVICE_DATA_OLD_KEY: 'f'.repeat(64) },
    ],
    [
      'a data key under another name',
      { data_encryption: { driver: 'aes_master', aes_master: { key_env: 'MY_KEY' } } },
      { MY_KEY: HEX_KEY },
    ],
    ['an upstream provider that is complete', { oidc: OIDC }],
    ['two upstream providers', { oidc: { ...OIDC, providers: [ACME] } }],
    ['a provider that is not complete and not enabled', { oidc: { providers: [{ slug: 'acme', enabled: false }] } }],
    [
      'a broker resource with its provider',
      { broker_providers: [provider], resources: [{ slug: 'a', backend_kind: 'broker', broker_provider_slug: 'p' }] },
    ],
  ]
  test.each(fine)('%s', (_what, config, env) => {
    expect(problemsOf(config, env)).toEqual([])
  })
})
