// Rules between configuration keys. All violated rules are reported together.

import { parseRange } from '../lib/range.ts'
import { isSchemeRule } from '../lib/redirect_scheme.ts'
import { isLocalhost, normalisedUrl } from '../lib/url.ts'
import { secretVariable } from './env.ts'
import { OIDC_RULES } from './oidc_rules.ts'
import { endpointsOf } from './provider_record.ts'
import { inProduction, isProduction, isWeak, type Rule, required, rule } from './rule.ts'
import type { Config } from './schema.ts'
import { sessionSecrets } from './session_secrets.ts'

const partial = (...values: string[]) => values.some(Boolean) && !values.every(Boolean)
const transit = (config: Config) =>
  config.signing.key_store === 'secretstore_transit' ? config.signing.secretstore_transit : undefined
const transitEncrypt = (config: Config) =>
  config.data_encryption.driver === 'secretstore_transit_encrypt'
    ? config.data_encryption.secretstore_transit_encrypt
    : undefined
const isPlainHttp = (address = '') => address.startsWith('http:') && !isLocalhost(address)
const isDataKey = (value: string | undefined) => value !== undefined && /^[0-9a-f]{64}$/i.test(value)

export const RULES: readonly Rule[] = [
  rule(
    'server.issuer',
    'must be an http or https URL in its normal form, without trailing slash, query, fragment or user',
    (c) => !isIssuer(c.server.issuer),
  ),
  rule('server.address', 'must be host:port or :port', (c) => !isAddress(c.server.address)),
  rule('admin.address', 'must be host:port or :port', (c) => c.admin.enabled && !isAddress(c.admin.address)),
  rule(
    'server.issuer_trailing_slash',
    'needs an issuer without a path',
    (c) => c.server.issuer_trailing_slash && URL.canParse(c.server.issuer) && new URL(c.server.issuer).pathname !== '/',
  ),
  rule(
    'server.trusted_proxies',
    'must be addresses or CIDR ranges such as 10.0.0.0/8',
    (c) => !c.server.trusted_proxies.every((each) => parseRange(each) !== undefined),
  ),
  rule(
    ['server.front_threads', 'server.http_engine'],
    'several front threads need uWebSockets.js: node:http cannot share a port among threads',
    (c) => c.server.front_threads > 1 && c.server.http_engine === 'node',
  ),
  rule(
    ['admin.address', 'server.address'],
    'must differ from each other',
    (c) => c.admin.enabled && c.admin.address === c.server.address,
  ),

  inProduction('session.secret', 'is required', (c) => !sessionSecrets(c)),
  rule(
    'session.secret',
    'is a well-known value, or has fewer than five different characters; use 32 random bytes',
    (c) => isProduction(c) && isWeak(c.session.secret),
  ),
  rule(
    'session.secrets',
    'contains a well-known value, or one that has fewer than five different characters; use 32 random bytes',
    (c) => isProduction(c) && c.session.secrets.some(isWeak),
  ),
  rule(
    ['session.secret', 'session.secrets'],
    'are mutually exclusive: write every secret into session.secrets',
    (c) => c.session.secret !== '' && c.session.secrets.length > 0,
  ),
  inProduction('session.secure', 'must be true', (c) => !c.session.secure),
  rule(
    ['session.same_site', 'session.secure'],
    'same_site none needs secure',
    (c) => c.session.same_site === 'none' && !c.session.secure,
  ),
  rule(
    'session.cookie_name',
    'must be letters, digits, _ and -',
    (c) => !/^[A-Za-z0-9_-]+$/.test(c.session.cookie_name),
  ),
  rule(
    'webauthn.rp_id',
    'must be the host of server.issuer, or a domain above it',
    ({ webauthn: { rp_id }, server }) => rp_id !== '' && !isWithin(rp_id, new URL(server.issuer).hostname),
  ),
  inProduction('admin.api_key', 'is required', ({ admin }) => admin.enabled && !admin.api_key && !admin.api_keys[0]),
  inProduction(
    'admin.api_key',
    'must be at least 16 random characters',
    ({ admin: { enabled, api_key } }) => enabled && api_key !== '' && (api_key.length < 16 || isWeak(api_key)),
  ),

  rule(
    'admin.api_keys',
    'must not have a name or a key twice',
    (c) => hasTwin(c.admin.api_keys.map((k) => k.name)) || hasTwin(c.admin.api_keys.map((k) => k.sha256.toLowerCase())),
  ),

  required('storage.sqlite.path', '', (c) => c.storage.driver === 'sqlite'),
  required('storage.postgres.dsn', 'with storage.driver postgres', (c) => c.storage.driver === 'postgres'),
  rule(
    'storage.postgres.min_conns',
    'must not be above max_conns',
    (c) => c.storage.postgres.min_conns > c.storage.postgres.max_conns,
  ),

  rule('signing.key_store', 'is not a key store; use postgres_key', (c) => c.signing.key_store === 'postgres'),
  required('signing.key_path', 'with the keyfile store', (c) => c.signing.key_store === 'keyfile'),
  rule(
    ['signing.key_store', 'storage.driver'],
    'postgres_key needs storage.driver postgres',
    (c) => c.signing.key_store === 'postgres_key' && c.storage.driver !== 'postgres',
  ),
  rule(
    ['signing.key_store', 'data_encryption.driver'],
    'postgres_key needs data_encryption.driver',
    (c) => c.signing.key_store === 'postgres_key' && !c.data_encryption.driver,
  ),
  required('signing.secretstore_transit.address', '', (c) => transit(c) !== undefined),
  inProduction(
    ['signing.secretstore_transit.address', 'data_encryption.secretstore_transit_encrypt.address'],
    'must use https, or be on this machine,',
    (c) => [transit, transitEncrypt].some((of) => isPlainHttp(of(c)?.address)),
  ),
  rule(
    ['signing.secretstore_transit.token', 'signing.secretstore_transit.approle'],
    'exactly one of token and approle is required',
    (c) => {
      const t = transit(c)
      return t !== undefined && Boolean(t.token) === Boolean(t.approle.role_id || t.approle.secret_id)
    },
  ),
  rule(
    ['signing.secretstore_transit.approle.role_id', 'signing.secretstore_transit.approle.secret_id'],
    'must be set together',
    (c) => {
      const t = transit(c)
      return t !== undefined && partial(t.approle.role_id, t.approle.secret_id)
    },
  ),

  rule(
    'dcr.approved_redirects',
    'must contain a pattern in mode approved_redirects',
    (c) => c.dcr.mode === 'approved_redirects' && c.dcr.approved_redirects.length === 0,
  ),
  rule(
    'dcr.redirect_schemes',
    'must be names of schemes, without a colon, or *.*; never javascript, data, file, blob, vbscript, about, http, https, ws or wss',
    (c) => !c.dcr.redirect_schemes.every(isSchemeRule),
  ),
  rule(
    'cimd.require_https',
    'false is accepted only with a localhost issuer',
    (c) => isProduction(c) && !c.cimd.require_https,
  ),
  rule(
    'cimd.allow_private_addresses',
    'true is accepted only with a localhost issuer',
    (c) => isProduction(c) && c.cimd.allow_private_addresses,
  ),

  ...OIDC_RULES,

  rule(
    'data_encryption.aes_master.key_env',
    'must name a variable that contains 64 hex characters (256 bits), not all the same',
    (c, env) => {
      if (c.data_encryption.driver !== 'aes_master') return false
      const key = secretVariable(env, c.data_encryption.aes_master.key_env)
      return !isDataKey(key) || new Set(key).size === 1
    },
    (c) => c.data_encryption.aes_master.key_env,
  ),
  rule(
    'data_encryption.aes_master.old_key_env',
    'must name a variable that contains 64 hex characters, other than the current key',
    (c, env) => {
      const old =
        c.data_encryption.driver === 'aes_master'
          ? secretVariable(env, c.data_encryption.aes_master.old_key_env)
          : undefined
      const key = secretVariable(env, c.data_encryption.aes_master.key_env) ?? ''
      return Boolean(old) && (!isDataKey(old) || old?.toLowerCase() === key.toLowerCase())
    },
    (c) => c.data_encryption.aes_master.old_key_env,
  ),
  required('data_encryption.secretstore_transit_encrypt.address', '', (c) => transitEncrypt(c) !== undefined),
  rule(
    'data_encryption.secretstore_transit_encrypt.auth_method',
    'must be token or approle',
    (c) => transitEncrypt(c)?.auth_method === '',
  ),
  rule(
    'data_encryption.secretstore_transit_encrypt.token_env',
    'must name a variable that contains the token',
    (c, env) => {
      const t = transitEncrypt(c)
      return t?.auth_method === 'token' && !secretVariable(env, t.token_env)
    },
    (c) => c.data_encryption.secretstore_transit_encrypt.token_env,
  ),
  rule(
    'data_encryption.secretstore_transit_encrypt.approle',
    'role_id_env and secret_id_env must name variables that are set',
    (c, env) => {
      const t = transitEncrypt(c)
      return (
        t?.auth_method === 'approle' &&
        !(secretVariable(env, t.approle.role_id_env) && secretVariable(env, t.approle.secret_id_env))
      )
    },
  ),
  rule(
    'connect.state_secret',
    'must be random, and differ from session.secret and session.secrets',
    (c) =>
      c.connect.state_secret !== '' &&
      (sessionSecrets(c)?.includes(c.connect.state_secret) || (isProduction(c) && isWeak(c.connect.state_secret))),
  ),
  rule(
    'connect.redirect_base_url',
    'must use https, or be localhost',
    (c) => !c.connect.redirect_base_url.startsWith('https:') && !isLocalhost(c.connect.redirect_base_url),
  ),

  required('observability.metrics.otel_endpoint', 'with provider otel or both', ({ observability: { metrics } }) =>
    ['otel', 'both'].includes(metrics.provider),
  ),
  rule('observability.metrics.path', 'must be a path', (c) => !/^\/[\w./-]*$/.test(c.observability.metrics.path)),
  required(
    'observability.logging.outputs.otel_endpoint',
    'with outputs.otel',
    (c) => c.observability.logging.outputs.otel,
  ),
  required('observability.tracing.endpoint', 'with tracing.enabled', (c) => c.observability.tracing.enabled),

  rule(
    'resources',
    'must not name a slug or a uri twice',
    (c) => hasTwin(c.resources.map((r) => r.slug)) || hasTwin(c.resources.flatMap((r) => r.uri ?? [])),
  ),
  rule('resources', 'a broker_provider_slug names no entry of broker_providers', (c) =>
    c.resources.some(
      (r) => r.backend_kind === 'broker' && !c.broker_providers.some((p) => p.slug === r.broker_provider_slug),
    ),
  ),
  rule(
    'broker_providers',
    'must use https',
    (c) => !c.cimd.allow_private_addresses && c.broker_providers.flatMap(endpointsOf).some(isPlain),
  ),
  rule('broker_providers', 'must not name a slug twice', (c) => hasTwin(c.broker_providers.map((p) => p.slug))),
]

const isPlain = (url: string) => !/^https:/i.test(url)
/** Clients compare issuers character by character (RFC 9207 §2.4, RFC 8414 §3.3), and proxies forward normalised URLs. */
const isIssuer = (issuer: string) =>
  !issuer.endsWith('/') && [issuer, `${issuer}/`].includes(normalisedUrl(issuer) ?? '')
const isAddress = (address: string) => {
  const port = /^(?:\[[0-9a-f:]+\]|[^\s:]*):(\d{1,5})$/i.exec(address)?.[1]
  return port !== undefined && Number(port) > 0 && Number(port) < 65_536
}
const hasTwin = (values: string[]) => new Set(values).size !== values.length
const isWithin = (domain: string, host: string): boolean =>
  host === domain || (host.endsWith(`.${domain}`) && domain.includes('.'))
