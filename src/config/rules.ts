// Rules between configuration keys. All violated rules are reported together.

import { isSchemeRule } from '../lib/redirect_scheme.ts'
import { isLocalhost, normalisedUrl } from '../lib/url.ts'
import { secretVariable } from './env.ts'
import { FACTOR_RULES } from './factor_rules.ts'
import { OIDC_RULES } from './oidc_rules.ts'
import { endpointsOf } from './provider_record.ts'
import { isProduction, isWeak, type Rule } from './rule.ts'
import type { Config } from './schema.ts'
import { SERVER_RULES } from './server_rules.ts'
import { SESSION_RULES } from './session_rules.ts'
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
  {
    keys: ['server.issuer'],
    bad: (c) => !isIssuer(c.server.issuer),
    message: 'must be an http or https URL in its normal form, without trailing slash, query, fragment or user',
  },
  { keys: ['server.address'], bad: (c) => !isAddress(c.server.address), message: 'must be host:port or :port' },
  {
    keys: ['admin.address'],
    bad: (c) => c.admin.enabled && !isAddress(c.admin.address),
    message: 'must be host:port or :port',
  },
  ...SERVER_RULES,
  {
    keys: ['admin.address', 'server.address'],
    bad: (c) => c.admin.enabled && c.admin.address === c.server.address,
    message: 'must differ from each other',
  },

  ...SESSION_RULES,
  ...FACTOR_RULES,
  {
    keys: ['admin.api_key'],
    bad: (c) => isProduction(c) && c.admin.enabled && !c.admin.api_key && c.admin.api_keys.length === 0,
    message: 'is required when the issuer is not localhost',
  },
  {
    keys: ['admin.api_key'],
    bad: (c) =>
      isProduction(c) &&
      c.admin.enabled &&
      c.admin.api_key !== '' &&
      (c.admin.api_key.length < 16 || isWeak(c.admin.api_key)),
    message: 'must be at least 16 random characters when the issuer is not localhost',
  },

  {
    keys: ['admin.api_keys'],
    bad: (c) =>
      hasTwin(c.admin.api_keys.map((k) => k.name)) || hasTwin(c.admin.api_keys.map((k) => k.sha256.toLowerCase())),
    message: 'must not have a name or a key twice',
  },

  {
    keys: ['storage.sqlite.path'],
    bad: (c) => c.storage.driver === 'sqlite' && !c.storage.sqlite.path,
    message: 'is required',
  },
  {
    keys: ['storage.postgres.dsn'],
    bad: (c) => c.storage.driver === 'postgres' && !c.storage.postgres.dsn,
    message: 'is required with storage.driver postgres',
  },
  {
    keys: ['storage.postgres.min_conns'],
    bad: (c) => c.storage.postgres.min_conns > c.storage.postgres.max_conns,
    message: 'must not be above max_conns',
  },

  {
    keys: ['signing.key_store'],
    bad: (c) => c.signing.key_store === 'postgres',
    message: 'is not a key store; use postgres_key',
  },
  {
    keys: ['signing.key_path'],
    bad: (c) => c.signing.key_store === 'keyfile' && !c.signing.key_path,
    message: 'is required with the keyfile store',
  },
  {
    keys: ['signing.key_store', 'storage.driver'],
    bad: (c) => c.signing.key_store === 'postgres_key' && c.storage.driver !== 'postgres',
    message: 'postgres_key needs storage.driver postgres',
  },
  {
    keys: ['signing.key_store', 'data_encryption.driver'],
    bad: (c) => c.signing.key_store === 'postgres_key' && !c.data_encryption.driver,
    message: 'postgres_key needs data_encryption.driver',
  },
  { keys: ['signing.secretstore_transit.address'], bad: (c) => transit(c)?.address === '', message: 'is required' },
  {
    keys: ['signing.secretstore_transit.address', 'data_encryption.secretstore_transit_encrypt.address'],
    bad: (c) => isProduction(c) && [transit, transitEncrypt].some((of) => isPlainHttp(of(c)?.address)),
    message: 'must use https, or be on this machine, when the issuer is not localhost',
  },
  {
    keys: ['signing.secretstore_transit.token', 'signing.secretstore_transit.approle'],
    bad: (c) => {
      const t = transit(c)
      return t !== undefined && Boolean(t.token) === Boolean(t.approle.role_id || t.approle.secret_id)
    },
    message: 'exactly one of token and approle is required',
  },
  {
    keys: ['signing.secretstore_transit.approle.role_id', 'signing.secretstore_transit.approle.secret_id'],
    bad: (c) => {
      const t = transit(c)
      return t !== undefined && partial(t.approle.role_id, t.approle.secret_id)
    },
    message: 'must be set together',
  },

  {
    keys: ['dcr.approved_redirects'],
    bad: (c) => c.dcr.mode === 'approved_redirects' && c.dcr.approved_redirects.length === 0,
    message: 'must contain a pattern in mode approved_redirects',
  },
  {
    keys: ['dcr.redirect_schemes'],
    bad: (c) => !c.dcr.redirect_schemes.every(isSchemeRule),
    message:
      'must be names of schemes, without a colon, or *.*; never javascript, data, file, blob, vbscript, about, http, https, ws or wss',
  },
  {
    keys: ['cimd.require_https'],
    bad: (c) => isProduction(c) && !c.cimd.require_https,
    message: 'false is accepted only with a localhost issuer',
  },
  {
    keys: ['cimd.allow_private_addresses'],
    bad: (c) => isProduction(c) && c.cimd.allow_private_addresses,
    message: 'true is accepted only with a localhost issuer',
  },

  ...OIDC_RULES,

  {
    keys: ['data_encryption.aes_master.key_env'],
    bad: (c, env) => {
      if (c.data_encryption.driver !== 'aes_master') return false
      const key = secretVariable(env, c.data_encryption.aes_master.key_env)
      return !isDataKey(key) || new Set(key).size === 1
    },
    message: 'must name a variable that contains 64 hex characters (256 bits), not all the same',
    variable: (c) => c.data_encryption.aes_master.key_env,
  },
  {
    keys: ['data_encryption.aes_master.old_key_env'],
    bad: (c, env) => {
      const old =
        c.data_encryption.driver === 'aes_master'
          ? secretVariable(env, c.data_encryption.aes_master.old_key_env)
          : undefined
      const key = secretVariable(env, c.data_encryption.aes_master.key_env) ?? ''
      return Boolean(old) && (!isDataKey(old) || old?.toLowerCase() === key.toLowerCase())
    },
    message: 'must name a variable that contains 64 hex characters, other than the current key',
    variable: (c) => c.data_encryption.aes_master.old_key_env,
  },
  {
    keys: ['data_encryption.secretstore_transit_encrypt.address'],
    bad: (c) => transitEncrypt(c)?.address === '',
    message: 'is required',
  },
  {
    keys: ['data_encryption.secretstore_transit_encrypt.auth_method'],
    bad: (c) => transitEncrypt(c)?.auth_method === '',
    message: 'must be token or approle',
  },
  {
    keys: ['data_encryption.secretstore_transit_encrypt.token_env'],
    bad: (c, env) => {
      const t = transitEncrypt(c)
      return t?.auth_method === 'token' && !secretVariable(env, t.token_env)
    },
    message: 'must name a variable that contains the token',
    variable: (c) => c.data_encryption.secretstore_transit_encrypt.token_env,
  },
  {
    keys: ['data_encryption.secretstore_transit_encrypt.approle'],
    bad: (c, env) => {
      const t = transitEncrypt(c)
      return (
        t?.auth_method === 'approle' &&
        !(secretVariable(env, t.approle.role_id_env) && secretVariable(env, t.approle.secret_id_env))
      )
    },
    message: 'role_id_env and secret_id_env must name variables that are set',
  },
  {
    keys: ['connect.state_secret'],
    bad: (c) =>
      c.connect.state_secret !== '' &&
      (sessionSecrets(c)?.includes(c.connect.state_secret) || (isProduction(c) && isWeak(c.connect.state_secret))),
    message: 'must be random, and differ from session.secret and session.secrets',
  },
  {
    keys: ['connect.redirect_base_url'],
    bad: (c) => !c.connect.redirect_base_url.startsWith('https:') && !isLocalhost(c.connect.redirect_base_url),
    message: 'must use https, or be localhost',
  },

  {
    keys: ['observability.metrics.otel_endpoint'],
    bad: (c) => ['otel', 'both'].includes(c.observability.metrics.provider) && !c.observability.metrics.otel_endpoint,
    message: 'is required with provider otel or both',
  },
  {
    keys: ['observability.metrics.path'],
    bad: (c) => !/^\/[\w./-]*$/.test(c.observability.metrics.path),
    message: 'must be a path',
  },
  {
    keys: ['observability.logging.outputs.otel_endpoint'],
    bad: (c) => c.observability.logging.outputs.otel && !c.observability.logging.outputs.otel_endpoint,
    message: 'is required with outputs.otel',
  },
  {
    keys: ['observability.tracing.endpoint'],
    bad: (c) => c.observability.tracing.enabled && !c.observability.tracing.endpoint,
    message: 'is required with tracing.enabled',
  },

  {
    keys: ['resources'],
    bad: (c) => hasTwin(c.resources.map((r) => r.slug)) || hasTwin(c.resources.flatMap((r) => r.uri ?? [])),
    message: 'must not name a slug or a uri twice',
  },
  {
    keys: ['resources'],
    bad: (c) =>
      c.resources.some(
        (r) => r.backend_kind === 'broker' && !c.broker_providers.some((p) => p.slug === r.broker_provider_slug),
      ),
    message: 'a broker_provider_slug names no entry of broker_providers',
  },
  {
    keys: ['broker_providers'],
    bad: (c) => !c.cimd.allow_private_addresses && c.broker_providers.flatMap(endpointsOf).some(isPlain),
    message: 'must use https',
  },
  {
    keys: ['broker_providers'],
    bad: (c) => hasTwin(c.broker_providers.map((p) => p.slug)),
    message: 'must not name a slug twice',
  },
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
