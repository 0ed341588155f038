// Sign-in at one upstream OpenID provider. openid-client implements the protocol; every request goes through the guarded client.
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  customFetch,
  fetchUserInfo,
} from 'openid-client'
import type { OidcSettings } from '../../config/oidc_keys.ts'
import type { Config } from '../../config/schema.ts'
import type { OidcIdentity, OidcLogin, OidcProvider, WantedSignIn } from '../../context.ts'
import { UPSTREAM_ALGS } from '../../crypto/jws.ts'
import { Buckets } from '../../http/rate_limit.ts'
import { OAuthError } from '../../lib/error.ts'
import { digest, newSecret } from '../../lib/id.ts'
import type { Clock } from '../../lib/time.ts'
import { isLocalhost } from '../../lib/url.ts'
import type { Fetcher } from '../../net/fetcher.ts'
import { createRemoteKeys } from '../../net/jwks.ts'
import { webFetch } from '../../net/web_fetch.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { type IdTokenClaims, refused, verifyIdToken } from './id_token.ts'
import { verifyLogoutToken } from './logout_token.ts'
import { OIDC_LIMITS, OIDC_TTL, type OidcMetadata, openOidcDiscovery } from './oidc_discovery.ts'
import { translated } from './oidc_errors.ts'

/** Burst, and rate per second, of failed sign-ins of an address for which the provider returned no identity. */
const [FAILURES, FAILURES_PER_SECOND] = [60, 0.1]
/** Seconds for which look() repeats its answer. */
const LOOK_SECONDS = 30
/** Minimum seconds between two fetches of the keys because of logout tokens with unknown keys, which every caller can send. */
const LOGOUT_COOLDOWN = 30

interface Parts {
  config: Config
  fetcher: Fetcher
  clock: Clock
  metrics: Metrics
}

/** What the operations of one provider need. */
interface Connection extends Pick<Parts, 'clock' | 'metrics'>, ReturnType<typeof openKeys> {
  settings: OidcSettings['settings']
  discovery: ReturnType<typeof openOidcDiscovery>
  configured: (metadata: OidcMetadata) => Configuration
}

/** Creates the client of a provider. Nothing is fetched before the first use. Its functions throw the errors of translated(). */
export function openOidcProvider({ slug, settings }: OidcSettings, parts: Parts): OidcProvider {
  const { fetcher, clock } = parts
  const allowHttp = isLocalhost(parts.config.server.issuer)
  const connection: Connection = {
    ...parts,
    ...openKeys(parts, allowHttp),
    settings,
    discovery: openOidcDiscovery({ issuer: settings.issuer, fetcher, clock, allowHttp }),
    configured: configurationOf(settings, fetcher, allowHttp),
  }
  return {
    slug,
    settings,
    look: lookOf(connection),
    failures: new Buckets({ rate: FAILURES_PER_SECOND, burst: FAILURES }),
    authorizationUrl: (login, wanted) => translated(() => authorizationUrl(connection, login, wanted)),
    redeem: (query, login) => translated(() => redeem(connection, query, login)),
    verifyLogout: (text) => translated(() => verifyLogout(connection, text)),
    checkClient: () => checkClient(connection),
  }
}

/** The keys for ID tokens, and those for logout tokens, which every caller can send. */
function openKeys({ fetcher, clock, metrics }: Parts, allowHttp: boolean) {
  const options = { fetcher, clock, ttl: OIDC_TTL, allowHttp }
  const keys = createRemoteKeys({
    ...options,
    // At most one fetch per sign-in: only the provider can name a key here.
    cooldown: 0,
    onLookup: (outcome) =>
      metrics.count(outcome === 'hit' ? 'core_oidc_jwks_cache_hits_total' : 'core_oidc_jwks_cache_misses_total'),
  })
  return { keys, logoutKeys: createRemoteKeys({ ...options, cooldown: LOGOUT_COOLDOWN }) }
}

/** Every page of the admin page requests this, so the result is cached for a while. */
function lookOf({ clock, keys, discovery }: Connection): OidcProvider['look'] {
  let looked: { at: number; answer: Promise<{ keys: number }> } | undefined
  return () => {
    if (looked && clock.now() - looked.at < LOOK_SECONDS) return looked.answer
    const answer = translated(async () => ({ keys: await keys.refresh((await discovery.fetchNow()).jwks_uri) }))
    looked = { at: clock.now(), answer }
    return answer
  }
}

async function authorizationUrl(connection: Connection, login: OidcLogin, wanted: WantedSignIn): Promise<string> {
  const { settings, discovery, configured } = connection
  const metadata = await discovery.current()
  return buildAuthorizationUrl(configured(metadata), requestOf(settings, metadata, login, wanted)).href
}

async function redeem(connection: Connection, query: string, login: OidcLogin): Promise<OidcIdentity> {
  const { settings, discovery, configured, clock, keys } = connection
  const { issuer, client_id, groups_claim } = settings
  const metadata = await discovery.current()
  const configuration = configured(metadata)
  const { id_token, access_token } = await tokensFor(connection, configuration, query, login)
  if (!id_token) throw refused('no_id_token')
  const expected = { issuer, client_id, nonce: login.nonce, jwks_uri: metadata.jwks_uri }
  const claims = await verifyIdToken({ clock, keys }, { id_token, access_token }, expected)
  const { sub } = claims
  const isComplete = claims['email'] && claims['name'] && claims[groups_claim]
  const more = isComplete ? {} : await userinfo(configuration, access_token, sub)
  return { issuer, sub, claims: { ...more, ...claims, ...emailClaims(claims, more) } }
}

/** The email and whether it is verified, both from one document: the first one that has both, or else the first one with an email. */
function emailClaims(...documents: readonly IdTokenClaims[]): IdTokenClaims {
  const named = documents.filter((each) => each['email'])
  const { email, email_verified } = named.find((each) => each['email_verified'] !== undefined) ?? named[0] ?? {}
  return { email, email_verified }
}

function tokensFor(
  connection: Connection,
  configuration: Configuration,
  query: string,
  { state, nonce, verifier, redirect_uri }: OidcLogin,
) {
  const { metrics } = connection
  const startedMs = performance.now()
  return authorizationCodeGrant(configuration, new URL(`${redirect_uri}?${query}`), {
    pkceCodeVerifier: verifier,
    expectedState: state,
    expectedNonce: nonce,
    idTokenExpected: true,
  }).finally(() => metrics.observe('core_oidc_exchange_duration_seconds', (performance.now() - startedMs) / 1000))
}

async function verifyLogout({ settings, discovery, clock, logoutKeys }: Connection, text: string) {
  const { jwks_uri } = await discovery.current()
  const { issuer, client_id } = settings
  return verifyLogoutToken({ clock, keys: logoutKeys }, text, { issuer, client_id, jwks_uri })
}

async function checkClient(connection: Connection): Promise<void> {
  const { settings, discovery, configured } = connection
  const secrets = { state: newSecret(), nonce: newSecret(), verifier: newSecret() }
  const login = { ...secrets, redirect_uri: new URL(settings.redirect_uri).href }
  const query = new URLSearchParams({ code: newSecret(), state: login.state, iss: settings.issuer }).toString()
  const configuration = configured(await discovery.current())
  // Providers authenticate the client before they look at the code, which does not exist.
  const error: unknown = await translated(() => tokensFor(connection, configuration, query, login)).catch(
    (error) => error,
  )
  if (error instanceof OAuthError && error.status >= 500) throw error
}

const configurationOf = (
  { client_id, client_secret }: OidcSettings['settings'],
  fetcher: Fetcher,
  allowHttp: boolean,
) => {
  const fetchIt = webFetch(fetcher, { ...OIDC_LIMITS, allowHttp })
  return (server: OidcMetadata): Configuration => {
    // client_secret_basic is the default of OpenID Connect Discovery §3.
    const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = server
    const authentication = methods.includes('client_secret_basic') ? ClientSecretBasic : ClientSecretPost
    // Our list instead of the metadata, which may be an hour old: a provider that changes its algorithm also changes its key and names it.
    const metadata = { ...server, id_token_signing_alg_values_supported: UPSTREAM_ALGS }
    const configuration = new Configuration(metadata, client_id, {}, authentication(client_secret))
    configuration[customFetch] = fetchIt
    if (allowHttp) allowInsecureRequests(configuration)
    return configuration
  }
}

function requestOf(
  settings: OidcSettings['settings'],
  { scopes_supported = [] }: OidcMetadata,
  { state, nonce, verifier, redirect_uri }: OidcLogin,
  { reauthenticate, max_age, acr_values, login_hint }: WantedSignIn,
): Record<string, string> {
  const groups = settings.include_groups_scope && scopes_supported.includes('groups') ? ['groups'] : []
  return {
    response_type: 'code',
    redirect_uri,
    scope: [...new Set(['openid', ...settings.scopes, ...groups])].join(' '),
    state,
    nonce,
    code_challenge: digest(verifier),
    code_challenge_method: 'S256',
    ...(settings.connector_id ? { connector_id: settings.connector_id } : {}),
    ...(reauthenticate ? { prompt: 'login' } : {}),
    ...(max_age === undefined ? {} : { max_age: String(max_age) }),
    ...(acr_values ? { acr_values } : {}),
    ...(login_hint ? { login_hint } : {}),
  }
}

/** Claims that the provider does not put into its ID tokens: name, email and groups. If the request fails, the user has none of them. */
async function userinfo(configuration: Configuration, access_token: string, sub: string): Promise<IdTokenClaims> {
  if (!configuration.serverMetadata().userinfo_endpoint) return {}
  return fetchUserInfo(configuration, access_token, sub).catch(() => ({}))
}
