// The keys of the specification: names, defaults, variables and bounds.
import { describe, expect, test } from 'vitest'
import { envNames, keysOf } from '../../src/config/key.ts'
import { schema } from '../../src/config/schema.ts'
import { load, problemsOf } from './loading.ts'

const all = [...keysOf(schema)].map(({ path, key }) => ({ name: path.join('.'), env: envNames(path, key), key }))
const at = (name: string) =>
  name.split('.').reduce<unknown>((value, part) => (value as Record<string, unknown>)[part], load().config)

const HOUR = 3600
const DEFAULTS: Record<string, unknown> = {
  'server.issuer': 'http://localhost:9000',
  'server.address': ':9000',
  'server.read_timeout': 30,
  'server.write_timeout': 30,
  'server.idle_timeout': 120,
  'server.shutdown_wait': 10,
  'server.drain_wait': 'auto',
  'server.hsts_include_subdomains': true,
  'server.allowed_origins': [],
  'storage.driver': 'sqlite',
  'storage.sqlite.path': 'data/service.db',
  'storage.sqlite.wal': true,
  'storage.postgres.dsn': '',
  'storage.postgres.max_conns': 25,
  'storage.postgres.min_conns': 5,
  'storage.postgres.max_conn_lifetime': HOUR,
  'storage.postgres.max_conn_idle_time': HOUR / 2,
  'storage.postgres.connect_wait': 60,
  'signing.algorithm': 'ES256',
  'signing.key_store': 'keyfile',
  'signing.key_path': 'data/keys',
  'signing.secretstore_transit.mount': 'transit',
  'signing.secretstore_transit.key_name': 'service-signing',
  'signing.secretstore_transit.timeout': 10,
  'signing.secretstore_transit.approle.mount': 'approle',
  'dcr.mode': 'open',
  'dcr.approved_redirects': [],
  'dcr.rate_limit': 10,
  'dcr.rate_limit_burst': 20,
  'dcr.default_token_expiry': HOUR / 4,
  'dcr.default_refresh_expiry': 168 * HOUR,
  'cimd.enabled': true,
  'cimd.require_https': true,
  'cimd.cache_ttl': HOUR,
  'cimd.fetch_timeout': 10,
  'cimd.allow_private_addresses': false,
  'session.cookie_name': 'service_session',
  'session.max_age': 24 * HOUR,
  'session.secure': false,
  'session.same_site': 'lax',
  'session.secret': '',
  'session.secrets': [],
  'rate_limit.enabled': true,
  'rate_limit.requests_per_second': 100,
  'rate_limit.burst': 200,
  'rate_limit.auth_fail_max': 10,
  'rate_limit.auth_fail_window': 600,
  'rate_limit.auth_lockout': 900,
  'rate_limit.account_fail_max': 50,
  'oauth.require_scope': true,
  'client_credentials.enabled': true,
  'client_credentials.token_expiry': HOUR,
  'dpop.enabled': true,
  'dpop.nonce_ttl': 60,
  'dpop.proof_lifetime': 60,
  'dpop.require_nonce': false,
  'token_exchange.enabled': true,
  'token_exchange.allow_self_exchange': false,
  'token_exchange.max_chain_depth': 5,
  'token_exchange.token_expiry': HOUR,
  'xaa.enabled': true,
  'xaa.jwks_cache_ttl': HOUR,
  'xaa.token_expiry': HOUR,
  'xaa.max_assertion_age': 300,
  'xaa.subject_mode': 'auto_map',
  'xaa.require_resource': false,
  'agents.enable_jwks_listing': false,
  'admin.enabled': true,
  'admin.address': ':9001',
  'admin.api_key': '',
  'oidc.enabled': false,
  'oidc.scopes': ['openid', 'email', 'profile'],
  'oidc.show_local_login': true,
  'oidc.include_groups_scope': true,
  'oidc.connector_id': '',
  resources: [],
  broker_providers: [],
  'observability.logging.level': 'info',
  'observability.logging.format': 'json',
  'observability.logging.add_source': false,
  'observability.logging.outputs.stdout': true,
  'observability.logging.outputs.otel': false,
  'observability.tracing.enabled': false,
  'observability.tracing.endpoint': '',
  'observability.tracing.insecure': false,
  'observability.tracing.sample_rate': 1,
  'observability.metrics.provider': 'prometheus',
  'observability.metrics.path': '/metrics',
  'data_encryption.driver': '',
  'data_encryption.aes_master.key_env': 'SERVICE_DATA_ENCRYPTION_KEY',
  'data_encryption.aes_master.old_key_env': 'SERVICE_DATA_OLD_KEY',
  'data_encryption.secretstore_transit_encrypt.mount_path': 'transit',
  'data_encryption.secretstore_transit_encrypt.key_name': 'service-data',
  'connect.state_secret': '',
  'connect.allowed_return_urls': [],
  'connect.redirect_base_url': 'http://localhost:9000',
}
test.each(Object.entries(DEFAULTS))('%s is %j unless it is set', (name, value) => {
  expect(at(name)).toEqual(value)
})

describe('names', () => {
  test('every key is in snake case and documented', () => {
    for (const { name, key } of all) {
      expect(name).toMatch(/^[a-z][a-z0-9_.]*$/)
      expect(key.doc, name).toMatch(/\.$|[)]$/)
    }
  })

  test('every key except lists of records has the variable of its path', () => {
    for (const { name, env } of all) {
      const regular = `SERVICE_${name.replaceAll('.', '_').toUpperCase()}`
      expect(env[0], name).toBe(
        ['admin.api_keys', 'resources', 'broker_providers', 'oidc.providers'].includes(name) ? undefined : regular,
      )
    }
  })

  test('no variable sets two keys', () => {
    const names = all.flatMap(({ env }) => env)
    expect(names.filter((each, i) => names.indexOf(each) !== i)).toEqual([])
  })

  test.each([
    ['SERVICE_RATE_LIMIT_RPS', 'rate_limit.requests_per_second'],
    ['SERVICE_LOG_LEVEL', 'observability.logging.level'],
    ['SERVICE_LOG_FORMAT', 'observability.logging.format'],
    ['SERVICE_LOG_ADD_SOURCE', 'observability.logging.add_source'],
    ['SERVICE_LOG_STDOUT', 'observability.logging.outputs.stdout'],
    ['SERVICE_LOG_OTEL', 'observability.logging.outputs.otel'],
    ['SERVICE_LOG_OTEL_ENDPOINT', 'observability.logging.outputs.otel_endpoint'],
    ['SERVICE_LOG_OTEL_INSECURE', 'observability.logging.outputs.insecure'],
    ['SERVICE_TRACING_ENABLED', 'observability.tracing.enabled'],
    ['SERVICE_METRICS_PROVIDER', 'observability.metrics.provider'],
    ['SERVICE_METRICS_PATH', 'observability.metrics.path'],
    ['SERVICE_VAULT_ADDR', 'signing.secretstore_transit.address'],
    ['SERVICE_VAULT_TOKEN', 'signing.secretstore_transit.token'],
    ['SERVICE_VAULT_TRANSIT_MOUNT', 'signing.secretstore_transit.mount'],
    ['SERVICE_VAULT_APPROLE_SECRET_ID', 'signing.secretstore_transit.approle.secret_id'],
    ['SERVICE_DATA_ENCRYPTION_KEY_ENV', 'data_encryption.aes_master.key_env'],
    ['SERVICE_DATA_ENCRYPTION_VAULT_TOKEN_ENV', 'data_encryption.secretstore_transit_encrypt.token_env'],
    ['SERVICE_XAA_JWKS_CACHE_TTL', 'xaa.jwks_cache_ttl'],
    ['SERVICE_OIDC_SCOPES', 'oidc.scopes'],
  ])('%s sets %s', (variable, name) => {
    expect(all.find((each) => each.env.includes(variable))?.name).toBe(name)
  })
})

test('exactly the keys that contain secrets are marked as secret', () => {
  expect(
    all
      .filter(({ key }) => key.secret)
      .map(({ name }) => name)
      .sort(),
  ).toEqual([
    'admin.api_key',
    'connect.state_secret',
    'oidc.client_secret',
    'session.secret',
    'session.secrets',
    'signing.secretstore_transit.approle.secret_id',
    'signing.secretstore_transit.token',
    'storage.postgres.dsn',
  ])
})

test.each([
  ['SERVICE_TOKEN_EXCHANGE_MAX_CHAIN_DEPTH', '0', '11', '10'],
  ['SERVICE_TRACING_SAMPLE_RATE', '-0.1', '1.1', '0.5'],
  ['SERVICE_DPOP_PROOF_LIFETIME', '0s', '11m', '10m'],
  ['SERVICE_SESSION_MAX_AGE', '0s', '100000h', '1s'],
  ['SERVICE_RATE_LIMIT_RPS', '0', '1.5', '1'],
  ['SERVICE_SESSION_SECRET', 'x'.repeat(31), 'a\nb'.repeat(20), 'x'.repeat(32)],
  ['SERVICE_CONNECT_STATE_SECRET', 'x'.repeat(31), 'é'.repeat(15), 'é'.repeat(16)],
])('%s is refused at %j and %j, and taken at %j', (variable, low, high, good) => {
  for (const bad of [low, high]) expect(problemsOf(undefined, { [variable]: bad })[0]?.key).toContain(variable)
  expect(problemsOf(undefined, { [variable]: good })).toEqual([])
})

test('every default is a valid value of its key', () => {
  for (const { name, key } of all)
    if (key.default !== undefined) expect(key.type.safeParse(key.default).success, name).toBe(true)
})
