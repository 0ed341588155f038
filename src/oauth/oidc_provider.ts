// The upstream OpenID provider that people may sign in at. openid-client speaks the protocol, the guarded client fetches.
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

/** Sign-ins of an address that may fail at once without the provider naming anybody, and how many more a second. */
const [FAILURES, FAILURES_PER_SECOND] = [60, 0.1]

interface Parts {
  config: Config
  fetcher: Fetcher
  crypto: CryptoLanes
  clock: Clock
  metrics: Metrics
}

const LIMITS = { maxBytes: 1024 * 1024, timeoutMs: 15_000 }
/** Seconds that the metadata and the keys of the provider are used for. While it is away they are used on. */
const TTL = 3600

interface Known {
  metadata: ServerMetadata
  jwks_uri: string
  freshUntil: number
}

/** Makes the way to the provider. Nothing is fetched before it is needed; 500 is thrown while it cannot be had, 401 for a person it does not vouch for. */
export function openOidcProvider({ config, fetcher, crypto, clock, metrics }: Parts): OidcProvider {
  const { oidc } = config
  const allowHttp = isLocalhost(config.server.issuer)
  const redirect_uri = new URL(oidc.redirect_uri).href
  const fetchIt = webFetch(fetcher, { ...LIMITS, allowHttp })
  const keys = createRemoteKeys({
    fetcher,
    clock,
    ttl: TTL,
    // One fetch anew per sign-in is the bound: nobody but the provider can name a key here.
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
    // Letter by letter: the library takes some of Microsoft's for one another.
    if (issuer !== oidc.issuer) throw unreachable('issuer_differs')
    if (typeof jwks_uri !== 'string') throw unreachable('no_jwks_uri')
    return { metadata, jwks_uri, freshUntil: clock.now() + TTL }
  }

  /** The metadata; of an earlier time while the provider is away. */
  async function current(): Promise<Known> {
    if (known && clock.now() < known.freshUntil) return known
    try {
      known = await loads.run(oidc.issuer, load)
    } catch (error) {
      if (!known) throw judge(error, unreachable)
    }
    return known
  }

  function configured(server: ServerMetadata): Configuration {
    const { token_endpoint_auth_methods_supported: methods } = server
    // What OpenID Connect Discovery §3 says where nothing is said.
    const byPost = Array.isArray(methods) && !methods.includes('client_secret_basic')
    const authentication = byPost ? ClientSecretPost : ClientSecretBasic
    // Our list, not theirs of an hour ago: a provider that changes its algorithm changes its key with it, and names that one.
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

  /** What the provider keeps out of its ID tokens. It only says how a person is called, so nothing depends on it. */
  async function userinfo(configuration: Configuration, access_token: string, sub: string): Promise<IdTokenClaims> {
    if (!configuration.serverMetadata().userinfo_endpoint) return {}
    return fetchUserInfo(configuration, access_token, sub).catch(() => ({}))
  }

  return {
    failures: new Buckets(FAILURES_PER_SECOND, FAILURES),
    find: () => judged(async () => void (await current())),
    authorizationUrl: ({ state, nonce, verifier }, again) =>
      judged(async () => {
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
          ...(again ? { prompt: 'login' } : {}),
        })
        return url.href
      }),
    redeem: (query, { state, nonce, verifier }) =>
      judged(async () => {
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

/** The provider is away, or not what the configuration says. */
const unreachable = (reason: string, cause?: unknown): OAuthError =>
  new OAuthError('server_error', 'the identity provider cannot be reached', {
    reason: `oidc_${reason}`,
    cause: cause ?? new Error(`the identity provider cannot be used: ${reason}`),
  })

/** Errors of a token endpoint that no other person would be spared (RFC 6749 §5.2). */
const OUR_FAULT = ['invalid_client', 'unauthorized_client', 'unsupported_grant_type', 'invalid_request']
/** What comes of a server in trouble, or of one that the configuration does not fit, in the words of openid-client. */
const TROUBLE = /(NOT_CONFORM|NOT_JSON|TIMEOUT|CHALLENGE|SERVER_METADATA|FORBIDDEN)$|^ERR_/

/** Runs a conversation with the provider. What goes wrong comes out in our words: errors of the library hold what was sent. */
async function judged<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw judge(error, refused)
  }
}

function judge(error: unknown, otherwise: (reason: string) => OAuthError): unknown {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof OAuthError) return at
    if (at instanceof FetchError) return unreachable(at.reason, at)
  }
  if (error instanceof ResponseBodyError) {
    const ours = OUR_FAULT.find((each) => each === error.error)
    return ours ? unreachable(ours) : otherwise('code')
  }
  const code = codeOf(error)
  if (code === undefined) return error
  const reason = code.toLowerCase().replace(/^oauth_/, '')
  return TROUBLE.test(code) ? unreachable(reason) : otherwise(reason)
}
