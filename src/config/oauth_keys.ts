// Keys of the protocol: clients, sessions, limits, grants, upstreams, seeded records.
import {
  boolKey,
  durationKey,
  floatKey,
  HOSTS_FORM,
  hostsKey,
  intKey,
  listKey,
  recordsKey,
  secretKey,
  secretsKey,
  textKey,
  urlKey,
  wordKey,
} from './key.ts'
import { oidcKeys } from './oidc_keys.ts'
import { providerRecord } from './provider_record.ts'
import { resourceRecord } from './records.ts'

/** The modes of client registration. Operators can change the mode at run time. */
export const DCR_MODES = ['open', 'approved_redirects', 'admin_only'] as const

export const oauthKeys = {
  dcr: {
    mode: wordKey({
      of: DCR_MODES,
      default: 'open',
      doc: 'Who may register clients. open is for development only. The mode set by `admin dcr set` takes precedence.',
    }),
    approved_redirects: listKey({
      doc: 'Patterns of the redirect URIs that clients may register in the mode approved_redirects. `*` matches within one part of the URL.',
    }),
    redirect_schemes: listKey({
      default: ['cursor', 'goose', 'vscode', 'vscode-insiders', 'windsurf', 'warp', 'zed', '*.*'],
      doc: 'Private-use schemes that redirect URIs of public clients may have (RFC 8252). `*.*` is any scheme with a dot. The value replaces the default list. Empty: none.',
    }),
    rate_limit: floatKey({
      default: 10,
      min: 0.01,
      max: 100_000,
      doc: 'Registrations per second from one address, counted across all instances.',
    }),
    rate_limit_burst: intKey({
      default: 20,
      min: 1,
      max: 1_000_000,
      doc: 'Burst of registrations from one address, counted across all instances.',
    }),
    default_token_expiry: durationKey({
      default: '15m',
      doc: 'Lifetime of access tokens of the code and refresh grants.',
    }),
    default_refresh_expiry: durationKey({
      default: '168h',
      doc: 'Lifetime of a refresh token. Each rotation restarts it.',
    }),
  },
  cimd: {
    enabled: boolKey({ default: true, doc: 'Accept client ids that are URLs of client ID metadata documents.' }),
    require_https: boolKey({
      default: true,
      doc: 'Require https for the URLs of client documents. false is accepted only with a localhost issuer.',
    }),
    cache_ttl: durationKey({
      default: '1h',
      doc: 'Maximum time that a document is cached. The cache headers of its response may shorten it.',
    }),
    fetch_timeout: durationKey({ default: '10s', doc: 'Deadline of one fetch.' }),
    allow_private_addresses: boolKey({
      default: false,
      doc: 'Allow outbound fetches to loopback and private networks. Only with a localhost issuer.',
    }),
    allow_hosts: hostsKey({
      doc: `Hosts in private networks from which client documents and the keys of clients (jwks_uri) may be fetched. ${HOSTS_FORM} Any request can name such a host in its client_id, so list only hosts that may receive such requests.`,
    }),
  },
  session: {
    cookie_name: textKey({
      default: 'service_session',
      doc: 'Name of the session cookie. With session.secure it gets the prefix __Host-, unless the issuer is localhost.',
    }),
    max_age: durationKey({ default: '24h', doc: 'How long a sign-in lasts.' }),
    secure: boolKey({
      default: false,
      doc: 'Send cookies over https only. Must be true when the issuer is not localhost.',
    }),
    same_site: wordKey({ of: ['lax', 'strict', 'none'], default: 'lax', doc: 'SameSite of the cookies.' }),
    secret: secretKey({
      minBytes: 32,
      doc: 'Key that signs and encrypts cookies. It or session.secrets is required when the issuer is not localhost. Otherwise, if it is empty, a temporary key is generated at each start.',
    }),
    secrets: secretsKey({
      minBytes: 32,
      doc: 'Session secrets in place of session.secret, for a rotation that signs no user out. The first one signs and encrypts; cookies, forms and nonces of all of them are accepted. In the variable or its file, commas or newlines separate them.',
    }),
  },
  rate_limit: {
    enabled: boolKey({
      default: true,
      doc: 'Limit requests to the public listener. The login lockout stays active in any case.',
    }),
    requests_per_second: intKey({
      default: 100,
      min: 1,
      max: 10_000_000,
      doc: 'Maximum number of requests per second of all callers together. Instances on one PostgreSQL share this limit.',
      env: ['RATE_LIMIT_RPS'],
    }),
    burst: intKey({
      default: 200,
      min: 1,
      max: 10_000_000,
      doc: 'Burst of requests of all callers together. Instances on one PostgreSQL share this limit.',
    }),
    per_client_requests_per_second: floatKey({
      default: 0,
      min: 0,
      max: 1_000_000,
      doc: 'Maximum number of requests per second with which one client authenticates, at all instances together. A burst may use the requests of two seconds. 0: no limit. The `limits` of a client take precedence.',
    }),
    per_client_tokens_per_day: intKey({
      default: 0,
      min: 0,
      max: 1_000_000_000,
      doc: 'Maximum number of tokens that one client gets in a day (UTC), at all instances together. 0: no limit. The `limits` of a client take precedence.',
    }),
    auth_fail_max: intKey({
      default: 10,
      min: 0,
      max: 1_000_000,
      doc: 'Failed logins from one address before it is locked out, counted across all instances. 0 disables the lockout.',
    }),
    auth_fail_window: durationKey({ default: '10m', doc: 'Period in which failed logins are counted.' }),
    auth_lockout: durationKey({ default: '15m', doc: 'How long a lockout of an address lasts.' }),
    account_fail_max: intKey({
      default: 50,
      min: 0,
      max: 1_000_000,
      doc: 'Failed logins to one account within an hour, from all addresses and at all instances, after which each further login to the account waits a second. The right password still works. 0 disables the wait.',
    }),
  },
  oauth: {
    assertion_max_lifetime: durationKey({
      default: '10m',
      min: 1,
      max: 3600,
      doc: 'Maximum time from now to the exp of a client assertion (private_key_jwt).',
    }),
    assertion_require_jti: boolKey({
      default: true,
      doc: 'Require a jti in client assertions (private_key_jwt), which makes each usable once. Without it an assertion can be used until it expires.',
    }),
    openid: boolKey({
      default: false,
      doc: 'Act as an OpenID provider: ID tokens, the userinfo and logout endpoints, and the scopes openid, profile, email and offline_access.',
    }),
    require_scope: boolKey({
      default: true,
      doc: 'Refuse authorize requests without scope. With false such a request gets the registered scope of the client, or every scope of the resource if the client registered none. For a resource without scopes no scope is required.',
    }),
    narrow_scopes: boolKey({
      default: true,
      doc: 'Reduce the requested scope to the scopes that the resource declares and that the client may request, if at least one remains. With false a request that contains any other scope is refused.',
    }),
    match_root_slash: boolKey({
      default: false,
      doc: 'Accept https://host/ for a resource registered as https://host, and the reverse. URIs with a path always match exactly.',
    }),
    refresh_grace: durationKey({
      default: '0s',
      min: 0,
      max: 3600,
      doc: 'Time after its first use in which a refresh token may be used again. The response then has the newest refresh token of its family. With 0s, a second use revokes the family. 30s suits command line clients.',
    }),
  },
  client_credentials: {
    enabled: boolKey({ default: true, doc: 'Offer the client_credentials grant.' }),
    token_expiry: durationKey({ default: '1h', doc: 'Lifetime of machine tokens.' }),
  },
  device: {
    enabled: boolKey({
      default: false,
      doc: 'Offer the device authorization grant (RFC 8628): a program without a browser shows a code, and the user enters it at /device. Off by default, because attackers send such codes to users (phishing).',
    }),
    code_expiry: durationKey({
      default: '10m',
      max: 3600,
      doc: 'Lifetime of a device code and its user code.',
    }),
    interval: durationKey({
      default: '5s',
      max: 60,
      doc: 'Time that a device must wait between two token requests, in whole seconds. Each earlier request is refused with slow_down and adds 5 seconds.',
    }),
  },
  dpop: {
    enabled: boolKey({ default: true, doc: 'Accept DPoP proofs; clients that send none get a bearer token.' }),
    nonce_ttl: durationKey({ default: '60s', doc: 'How long a nonce is accepted.' }),
    proof_lifetime: durationKey({
      default: '60s',
      max: 600,
      doc: 'Maximum age of a proof, by its iat.',
    }),
    require_nonce: boolKey({ default: false, doc: 'Require a nonce of this service in every proof.' }),
  },
  token_exchange: {
    enabled: boolKey({ default: true, doc: 'Offer token exchange (RFC 8693).' }),
    allow_self_exchange: boolKey({
      default: false,
      doc: 'Let a client exchange its own token. Without a resource parameter the new token has the same audience. With one it may be for any resource: no consent and no entry in the lists of that resource is needed.',
    }),
    max_chain_depth: intKey({ default: 5, min: 1, max: 10, doc: 'Maximum number of actors in the act claim.' }),
    token_expiry: durationKey({
      default: '1h',
      doc: 'Lifetime of exchanged tokens, never beyond that of the subject token.',
    }),
  },
  xaa: {
    enabled: boolKey({ default: true, doc: 'Accept ID-JAG assertions of trusted identity providers.' }),
    jwks_cache_ttl: durationKey({
      default: '1h',
      doc: 'How long the keys of an identity provider, or of an issuer of workload tokens, are cached.',
    }),
    token_expiry: durationKey({ default: '1h', doc: 'Lifetime of the tokens that are issued for an assertion.' }),
    max_assertion_age: durationKey({
      default: '5m',
      max: 12 * 3600,
      doc: 'Maximum age of an assertion, by its iat.',
    }),
    subject_mode: wordKey({
      of: ['auto_map', 'strict'],
      default: 'auto_map',
      doc: 'Which local subject an assertion is for. strict: only a subject with a mapping is accepted. auto_map: without a mapping it is the user who signed in with the same issuer and subject, otherwise a subject made of both.',
    }),
    require_resource: boolKey({ default: false, doc: 'Refuse requests that name no resource.' }),
    allow_hosts: hostsKey({
      doc: `Hosts in private networks from which the keys of identity providers and of issuers of workload tokens may be fetched. ${HOSTS_FORM}`,
    }),
  },
  agents: {
    enable_jwks_listing: boolKey({ default: false, doc: 'Publish /.well-known/agents.json.' }),
  },
  oidc: oidcKeys,
  events: {
    retention: durationKey({
      default: '7d',
      min: 60,
      max: 90 * 24 * 3600,
      doc: 'How long an event waits for a webhook or stream that cannot be reached. Older events are not sent.',
    }),
    include_pii: boolKey({
      default: false,
      doc: 'Include email addresses and names of users in events. Without it events name users by id only.',
    }),
    allow_hosts: hostsKey({ doc: `Hosts in private networks that may receive events. ${HOSTS_FORM}` }),
  },
  resources: recordsKey(resourceRecord, {
    doc: 'Resources to create at the start. A resource whose slug exists already is not changed. One mint resource can also be set with SERVICE_RESOURCE_URI and SERVICE_RESOURCE_SCOPES.',
  }),
  broker_providers: recordsKey(providerRecord, {
    doc: 'Broker providers to create at the start. A provider whose slug exists already is not changed.',
  }),
  connect: {
    state_secret: secretKey({
      minBytes: 32,
      doc: 'Key that protects the state of the connect flow. Must differ from session.secret.',
    }),
    allowed_return_urls: listKey({ doc: 'Return URLs of the connect flow; a resource may override them.' }),
    redirect_base_url: urlKey({ default: 'http://localhost:9000', doc: 'Base of the connect callbacks.' }),
    allow_hosts: hostsKey({
      doc: `Hosts in private networks that requests to broker providers may reach. ${HOSTS_FORM}`,
    }),
  },
} as const
