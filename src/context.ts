// The type of `App`: every long-lived part of the service, as server/assemble.ts builds it. Only types, from folders to the left of this file.
import type { Env } from './config/env.ts'
import type { OidcSettings } from './config/oidc_keys.ts'
import type { Reloaded } from './config/reload.ts'
import type { Config } from './config/schema.ts'
import type { SessionSecrets } from './config/session_secrets.ts'
import type { AtRest } from './crypto/encryption.ts'
import type { Keyring } from './crypto/keyring.ts'
import type { KnownTokens } from './crypto/known_tokens.ts'
import type { CryptoLanes } from './crypto/pool.ts'
import type { Sealer } from './crypto/seal.ts'
import type { Admission } from './http/admission.ts'
import type { ClientLimiter } from './http/client_limiter.ts'
import type { LimitShare } from './http/limit_share.ts'
import type { Buckets, LoginAttempts } from './http/rate_limit.ts'
import type { RequestLog } from './http/request_log.ts'
import type { SharedBuckets } from './http/shared_buckets.ts'
import type { WaitingRoom } from './http/waiting_room.ts'
import type { Build } from './lib/build.ts'
import type { Caches } from './lib/cache.ts'
import type { OAuthError } from './lib/error.ts'
import type { Markup } from './lib/html.ts'
import type { Lru } from './lib/lru.ts'
import type { ReplayCache } from './lib/replay_set.ts'
import type { SingleFlight } from './lib/threads/single_flight.ts'
import type { Clock } from './lib/time.ts'
import type { PeerCertificates } from './net/certificates.ts'
import type { Fetcher } from './net/fetcher.ts'
import type { IssuerMetadata } from './net/issuer_metadata.ts'
import type { KeySetState, RemoteKeys } from './net/jwks.ts'
import type { Semaphores } from './net/semaphore.ts'
import type { Standing } from './net/standing.ts'
import type { AuthorizationDetail, DetailsType } from './records/authorization_details.ts'
import type { Client } from './records/client.ts'
import type { RenewalResult } from './records/upstream_token.ts'
import type { Store } from './store/index.ts'
import type { ActivitySums } from './telemetry/activity_sums.ts'
import type { ActivityLog, ClientActivity } from './telemetry/client_activity.ts'
import type { FailureLog } from './telemetry/client_failures.ts'
import type { Headroom } from './telemetry/headroom.ts'
import type { Lanes } from './telemetry/lanes.ts'
import type { Logger } from './telemetry/logger.ts'
import type { Metrics } from './telemetry/metrics.ts'
import type { Series } from './telemetry/series.ts'
import type { Tracer } from './telemetry/trace.ts'

export interface App {
  readonly config: Config
  readonly log: Logger
  /** The log of requests. The listeners of a thread share its limit on lines. */
  readonly requests: RequestLog
  readonly metrics: Metrics
  /** Set when requests are traced. */
  readonly tracer?: Tracer
  readonly clock: Clock
  readonly build: Build
  readonly startedAt: number
  /** The environment, which has the secrets that records name. Only broker/secret.ts reads it. */
  readonly env: Env
  readonly store: Store
  readonly keyring: Keyring
  readonly crypto: CryptoLanes
  /** Every queue, by name. */
  readonly lanes: Lanes
  readonly sealer: Sealer
  /** The secrets of `sealer`. Front threads use the same ones. */
  readonly sealing: SessionSecrets
  /** Derives a refresh token from the token that it replaces (`oauth.refresh_grace`). The result is the same at every instance and after every restart. */
  readonly successors: Pick<Sealer, 'mac' | 'macs'>
  /** The secrets of `successors`. */
  readonly refreshSecrets: SessionSecrets
  /** Encrypts secrets in the database; undefined when data_encryption is off. */
  readonly atRest: AtRest | undefined
  readonly knownTokens: KnownTokens
  /** Decisions on requests of machine clients (oauth/tokens/prepared.ts). A changed setting clears them. */
  readonly prepared: Lru<object>
  /** The schemas of authorization details: what is wrong with one, and which member of an element does not fit it. */
  readonly details: {
    problemOf(type: DetailsType): Promise<string | undefined>
    checkOf(type: DetailsType): Promise<(element: AuthorizationDetail) => string | undefined>
  }
  /** Admission control for requests that sign or verify. */
  readonly admission: Admission
  /** Of the providers to which this process has connected, and its front threads. */
  readonly certificates: PeerCertificates
  /** For requests to hosts that clients name. */
  readonly fetchers: Readonly<Record<Standing, Fetcher>>
  /** For events to webhooks and streams. */
  readonly eventFetcher: Fetcher
  /** For notifications to clients whose approval is decided. */
  readonly pingFetcher: Fetcher
  /** Notifications in flight. */
  readonly pings: Set<Promise<void>>
  /** Stops sending events; set in the thread that sends them. */
  stopEvents?: () => Promise<void>
  /** For requests to broker providers. */
  readonly brokerFetcher: Fetcher
  /** Keys of identity providers. They have a fetcher of their own, so that slow hosts named by callers cannot delay them. */
  readonly remoteKeys: RemoteKeys
  /** Discovery documents of issuers of workload tokens. */
  readonly issuerMetadata: IssuerMetadata
  /** Published keys of clients (jwks_uri). */
  readonly clientKeys: Readonly<Record<Standing, RemoteKeys>>
  /** Limits how many refusals of a client, a user or an address the audit trail records. */
  readonly auditedRefusals: { readonly names: Buckets; readonly addresses: Buckets }
  /** Replay cache: proofs and assertions that were used and have not expired. */
  readonly replays: ReplayCache
  /** Client documents: which are fresh, and which are being fetched. */
  readonly documents: Documents
  /** How the pages for users look. */
  readonly branding: Branding
  /** The upstream providers that users sign in at, in the order of the login page. */
  readonly oidc: readonly OidcProvider[]
  /** Limits on the bytes of what browsers come back for, and of what clients push that any program can be. */
  readonly pending: readonly Room[]
  readonly pushed: readonly Room[]
  /** Limit on registrations by address, which applies while `rate_limit.enabled` is true. */
  readonly registrations: SharedBuckets
  /** The limits of single clients. */
  readonly clientLimiter: ClientLimiter
  /** The shares of single clients in the limit on all requests. */
  readonly clientShare: LimitShare
  /** Limit on device codes by address, which applies while `rate_limit.enabled` is true. */
  readonly deviceCodes: SharedBuckets
  /** Limit on unknown user codes of devices, by session and by address. */
  readonly userCodes: SharedBuckets
  /** The last protocol steps of each client. */
  readonly activity: ActivityLog
  /** The requests of each minute that are not written to the store yet. */
  readonly sums: ActivitySums
  /** The refused requests of clients that are not written to the store yet. */
  readonly failures: FailureLog
  /** Writes what is not written yet; set in the thread that writes it. */
  stopHistory?: () => Promise<void>
  /** Statistics of the last hour, in periods of ten seconds. */
  readonly series: Series
  /** Capacity and utilisation of this process. */
  readonly headroom: Headroom
  /** Login attempts in progress, by address. */
  readonly loginAttempts: LoginAttempts
  /** Where login attempts wait whose account had too many failures. */
  readonly waitingRoom: WaitingRoom
  /** The front threads; set in the supervisor of several. */
  frontPool?: FrontPool
  /** Reads the configuration again and applies the keys that can change at run time; set by serve(). Rejects with ConfigError. */
  reload?: () => Promise<Reloaded>
  /** The metrics of the whole process in the text format of Prometheus. */
  scrape(): Promise<{ type: string; text: string }>
  /** Upstream tokens that are being requested, by connection and scopes. */
  readonly renewals: SingleFlight<RenewalResult>
  /** The HTTP engine of each listener; filled by serve(). */
  readonly engines: { public?: string; admin?: string }
  /** `draining` from the first signal on: no new requests are wanted. */
  readonly lifecycle: { draining: boolean }
}

/** The front threads of this process, as its main thread sees them. */
export interface FrontPool {
  reports(): FrontThreadReport[]
  /** Asks every thread for a report and adds its counts to the metrics of this thread. */
  collect(): Promise<void>
  activity(): Promise<ClientActivity[]>
  /** Removes a key set of an identity provider from the cache of every thread. */
  dropKeys(jwks_uri: string): Promise<void>
  /** The state of a key set of an identity provider in every thread that has answered. */
  lookAtKeys(jwks_uri: string): Promise<KeySetState[]>
  /** Sends the live keys of the configuration to every thread. */
  configure(): Promise<void>
}

/** The last report of a front thread. */
export interface FrontThreadReport {
  /** From 1. */
  thread: number
  /** Requests it answered since the start. */
  requests: number
  lanes: Lanes
  caches: Caches<'hits' | 'misses'>
  /** Share of its time that its event loop was busy. */
  busy: number
  /** Of its own pool, with PostgreSQL. */
  connections?: ReturnType<NonNullable<Store['driver']['connections']>>
}

/** The copies of documents by client_id. Those of stored clients have room of their own. */
export interface DocumentCache {
  get(client_id: string): KnownDocument | undefined
  set(client_id: string, known: KnownDocument, isStored: boolean): void
  delete(client_id: string): void
}

/** Client documents (CIMD): the ones that were fetched, and the ones that are being fetched. */
export interface Documents {
  known: DocumentCache
  loading: SingleFlight<Client>
  /** Fetches of documents and key sets that run, by caller and by user. */
  places: Semaphores
  /** Fetches by host, whatever the port, and by client that is known. */
  hosts: SharedBuckets
  /** Changes of the document of a client that is stored. */
  changes: SharedBuckets
}

/** The parts of every page for users that follow from the configuration. */
export interface Branding {
  /** Name of the product: the configured one, or the host of the issuer. */
  readonly name: string
  /** Ends the title of each page; empty without a configured name. */
  readonly titleSuffix: string
  readonly style: Markup
  /** The content security policy. */
  readonly policy: string
  /** The policy of pages with the script. */
  readonly scriptPolicy: string
  /** The script of the pages, and its path with its version. Undefined without `webauthn.enabled`. */
  readonly script: { readonly path: string; readonly bytes: Buffer } | undefined
  /** The content above each page. */
  readonly header: Markup
  readonly logo?: Logo
}

/** An image file of the configuration. */
export interface Logo {
  readonly type: 'image/png' | 'image/svg+xml'
  readonly bytes: Buffer
}

/** What a document described, or why it cannot be used. */
export interface KnownDocument {
  /** Fresh until then, in epoch seconds. */
  until: number
  /** On whose behalf it was fetched. */
  standing: Standing
  client?: Client
  failure?: OAuthError
}

/** Sign-in at an upstream OpenID provider. */
export interface OidcProvider {
  readonly slug: string
  readonly settings: OidcSettings['settings']
  /** Failed sign-ins, by address. An address that has used up its bucket is refused before the provider is asked. */
  readonly failures: Buckets
  /** Where to send a browser. */
  authorizationUrl(login: OidcLogin, wanted: WantedSignIn): Promise<string>
  /** Redeems `query`, the raw query of the callback. Returns the person who signed in. */
  redeem(query: string, login: OidcLogin): Promise<OidcIdentity>
  /** Verifies a logout token of the provider. */
  verifyLogout(text: string): Promise<LogoutToken>
  /** Fetches the metadata and the keys, at most twice a minute. Returns the number of keys. */
  look(): Promise<{ keys: number }>
  /** Checks that the provider accepts the client id and secret of this service. */
  checkClient(): Promise<void>
}

/** Limits on the kilobytes that are kept for one address, for one client where clients send them, and for all of them, at all instances together. */
export interface Room {
  readonly address: SharedBuckets
  readonly client?: SharedBuckets
  readonly all: SharedBuckets
}

/** What an application wants of a sign-in at a provider. */
export interface WantedSignIn {
  /** The person must sign in there even if they did before. */
  reauthenticate: boolean
  /** Maximum seconds since the person signed in there. The provider then says when that was (OpenID Connect Core §3.1.2.1). */
  max_age?: number
  /** Authentication context classes, separated by spaces. */
  acr_values?: string
  /** The account that the application expects. */
  login_hint?: string
}

/** A verified logout token: the subject or the session that the provider signed out. */
export interface LogoutToken {
  sub?: string
  sid?: string
  jti: string
  /** The time after which it is no longer accepted. */
  valid_until: number
}

/** What is stored of a sign-in while the browser is at the provider. */
export interface OidcLogin {
  state: string
  nonce: string
  /** The PKCE verifier (RFC 7636 §4.1). */
  verifier: string
  /** The callback that the provider returns the browser to. */
  redirect_uri: string
}

/** The person who signed in. */
export interface OidcIdentity {
  issuer: string
  sub: string
  /** The claims of the ID token, completed from userinfo. */
  claims: Readonly<Record<string, unknown>>
}
