// Sign-in at the upstream OpenID provider. openid-client implements the protocol; every request goes through the guarded client.
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  customFetch,
  discovery,
  fetchUserInfo,
  ResponseBodyError,
  type ServerMetadata,
} from 'openid-client'
import type { Config } from '../config/schema.ts'
import type { OidcProvider } from '../context.ts'
import { UPSTREAM_ALGS } from '../crypto/jws.ts'
import type { CryptoLanes } from '../crypto/pool.ts'
import { Buckets } from '../http/rate_limit.ts'
import { codeOf, OAuthError } from '../lib/error.ts'
import { digest } from '../lib/id.ts'
import { SingleFlight } from '../lib/single_flight.ts'
import type { Clock } from '../lib/time.ts'
import { isLocalhost } from '../lib/url.ts'
import { FetchError } from '../net/error.ts'
import type { Fetcher } from '../net/fetcher.ts'
import { createRemoteKeys } from '../net/jwks.ts'
import { webFetch } from '../net/web_fetch.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { type IdTokenClaims, refused, verifyIdToken } from './id_token.ts'

/** Burst, and rate per second, of failed sign-ins of an address for which the provider returned no identity. */
const [FAILURES, FAILURES_PER_SECOND] = [60, 0.1]

interface Parts {
  config: Config
  fetcher: Fetcher
  crypto: CryptoLanes
  clock: Clock
  metrics: Metrics
}

const LIMITS = { maxBytes: 1024 * 1024, timeoutMs: 15_000 }
/** Seconds until the metadata and the keys of the provider are fetched again. While the provider is unavailable, they stay in use. */
const TTL = 3600

interface Known {
  metadata: ServerMetadata
  jwks_uri: string
  freshUntil: number
}

/**
 * Creates the client of the provider. Nothing is fetched before the first use. Its functions throw 500 while the provider is
 * unavailable, 401 for a sign-in that could not be verified.
 */
export function openOidcProvider({ config, fetcher, crypto, clock, metrics }: Parts): OidcProvider {
  const { oidc } = config
  const allowHttp = isLocalhost(config.server.issuer)
  const redirect_uri = new URL(oidc.redirect_uri).href
  const fetchIt = webFetch(fetcher, { ...LIMITS, allowHttp })
  const keys = createRemoteKeys({
    fetcher,
    clock,
    ttl: TTL,
    // At most one fetch per sign-in: only the provider can name a key here.
    cooldown: 0,
    allowHttp,
    onLookup: (outcome) =>
      metrics.count(outcome === 'hit' ? 'core_oidc_jwks_cache_hits_total' : 'core_oidc_jwks_cache_misses_total'),
  })
  let known: Known | undefined
  const loads = new SingleFlight<Known>()

  async function load(): Promise<Known> {
    const found = await discovery(new URL(oidc.issuer), oidc.client_id, {}, undefined, {
      [customFetch]: fetchIt,
      execute: allowHttp ? [allowInsecureRequests] : [],
    })
    const metadata = found.serverMetadata()
    const { issuer, jwks_uri } = metadata
    // Exact comparison: the library accepts different issuers of Microsoft as equal.
    if (issuer !== oidc.issuer) throw unreachable('issuer_differs')
    if (typeof jwks_uri !== 'string') throw unreachable('no_jwks_uri')
    return { metadata, jwks_uri, freshUntil: clock.now() + TTL }
  }

  /** The metadata. While the provider is unavailable, the previous metadata. */
  async function current(): Promise<Known> {
    if (known && clock.now() < known.freshUntil) return known
    try {
      known = await loads.run(oidc.issuer, load)
    } catch (error) {
      if (!known) throw translate(error, unreachable)
    }
    return known
  }

  function configured(server: ServerMetadata): Configuration {
    const { token_endpoint_auth_methods_supported: methods } = server
    // client_secret_basic is the default of OpenID Connect Discovery §3.
    const byPost = Array.isArray(methods) && !methods.includes('client_secret_basic')
    const authentication = byPost ? ClientSecretPost : ClientSecretBasic
    // Our list instead of the metadata, which may be an hour old: a provider that changes its algorithm also changes its key and names it.
    const metadata = { ...server, id_token_signing_alg_values_supported: UPSTREAM_ALGS }
    const configuration = new Configuration(metadata, oidc.client_id, {}, authentication(oidc.client_secret))
    configuration[customFetch] = fetchIt
    if (allowHttp) allowInsecureRequests(configuration)
    return configuration
  }

  function scopeOf({ scopes_supported: offered }: ServerMetadata): string {
    const groups = oidc.include_groups_scope && Array.isArray(offered) && offered.includes('groups')
    return [...new Set(['openid', ...oidc.scopes, ...(groups ? ['groups'] : [])])].join(' ')
  }

  /** Claims that the provider does not put into its ID tokens. They contain only the name and email of a user, so failures are ignored. */
  async function userinfo(configuration: Configuration, access_token: string, sub: string): Promise<IdTokenClaims> {
    if (!configuration.serverMetadata().userinfo_endpoint) return {}
    return fetchUserInfo(configuration, access_token, sub).catch(() => ({}))
  }

  return {
    failures: new Buckets(FAILURES_PER_SECOND, FAILURES),
    find: () => translated(async () => void (await current())),
    authorizationUrl: ({ state, nonce, verifier }, reauthenticate) =>
      translated(async () => {
        const { metadata } = await current()
        const url = buildAuthorizationUrl(configured(metadata), {
          response_type: 'code',
          redirect_uri,
          scope: scopeOf(metadata),
          state,
          nonce,
          code_challenge: digest(verifier),
          code_challenge_method: 'S256',
          ...(oidc.connector_id ? { connector_id: oidc.connector_id } : {}),
          ...(reauthenticate ? { prompt: 'login' } : {}),
        })
        return url.href
      }),
    redeem: (query, { state, nonce, verifier }) =>
      translated(async () => {
        const { metadata, jwks_uri } = await current()
        const configuration = configured(metadata)
        const startedMs = performance.now()
        const tokens = await authorizationCodeGrant(configuration, new URL(`${redirect_uri}?${query}`), {
          pkceCodeVerifier: verifier,
          expectedState: state,
          expectedNonce: nonce,
          idTokenExpected: true,
        }).finally(() => metrics.observe('core_oidc_exchange_duration_seconds', (performance.now() - startedMs) / 1000))
        const { id_token, access_token } = tokens
        if (!id_token) throw refused('no_id_token')
        const expected = { issuer: oidc.issuer, client_id: oidc.client_id, nonce, jwks_uri }
        const claims = await verifyIdToken({ crypto, clock, keys }, { id_token, access_token }, expected)
        const { sub } = claims
        const more = claims['email'] && claims['name'] ? {} : await userinfo(configuration, access_token, sub)
        return { issuer: oidc.issuer, sub, claims: { ...more, ...claims } }
      }),
  }
}

/** The provider cannot be reached, or does not match the configuration. */
const unreachable = (reason: string, cause?: unknown): OAuthError =>
  new OAuthError('server_error', 'the identity provider cannot be reached', {
    reason: `oidc_${reason}`,
    cause: cause ?? new Error(`the identity provider cannot be used: ${reason}`),
  })

/** Errors of the token endpoint that do not depend on the user (RFC 6749 §5.2). */
const CONFIGURATION_ERRORS = ['invalid_client', 'unauthorized_client', 'unsupported_grant_type', 'invalid_request']
/** Error codes of openid-client for a provider that fails, or that does not match the configuration. */
const PROVIDER_FAILURES = /(NOT_CONFORM|NOT_JSON|TIMEOUT|CHALLENGE|SERVER_METADATA|FORBIDDEN)$|^ERR_/

/** Runs requests to the provider. Errors are translated, because errors of the library contain the data that was sent. */
async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw translate(error, refused)
  }
}

function translate(error: unknown, otherwise: (reason: string) => OAuthError): unknown {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof OAuthError) return at
    if (at instanceof FetchError) return unreachable(at.reason, at)
  }
  if (error instanceof ResponseBodyError) {
    const known = CONFIGURATION_ERRORS.find((each) => each === error.error)
    return known ? unreachable(known) : otherwise('code')
  }
  const code = codeOf(error)
  if (code === undefined) return error
  const reason = code.toLowerCase().replace(/^oauth_/, '')
  return PROVIDER_FAILURES.test(code) ? unreachable(reason) : otherwise(reason)
}
