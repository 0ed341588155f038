// Keys of the protocol: clients, sessions, limits, grants, upstreams, seeded records.

import { ID_TOKEN_ALGS } from '../records/rare_members.ts'
import { SCIM_MATCHES } from '../records/scim.ts'
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
import { rateLimitKeys } from './rate_limit_keys.ts'
import { resourceRecord } from './records.ts'

/** The modes of client registration. Operators can change the mode at run time. */
export const DCR_MODES = ['open', 'approved_redirects', 'admin_only'] as const

export const oauthKeys = {
  dcr: {
    mode: wordKey({ of: DCR_MODES, default: 'open' }).describe(
      'Who may register clients. open is for development only. The mode set by `admin dcr set` takes precedence.',
    ),
    approved_redirects: listKey().describe(
      'Patterns of the redirect URIs that clients may register in the mode approved_redirects. `*` matches within one part of the URL.',
    ),
    redirect_schemes: listKey({
      default: ['cursor', 'goose', 'vscode', 'vscode-insiders', 'windsurf', 'warp', 'zed', '*.*'],
    }).describe(
      'Private-use schemes that redirect URIs of public clients may have (RFC 8252). `*.*` is any scheme with a dot. The value replaces the default list. Empty: none.',
    ),
    rate_limit: floatKey({ default: 10, min: 0.01, max: 100_000 }).describe(
      'Registrations per second from one address, counted across all instances.',
    ),
    rate_limit_burst: intKey({ default: 20, min: 1, max: 1_000_000 }).describe(
      'Burst of registrations from one address, counted across all instances.',
    ),
    default_token_expiry: durationKey({ default: '15m' }).describe(
      'Lifetime of access tokens of the code and refresh grants.',
    ),
    default_refresh_expiry: durationKey({ default: '168h' }).describe(
      'Lifetime of a refresh token. Each rotation restarts it.',
    ),
  },
  cimd: {
    enabled: boolKey({ default: true }).describe('Accept client ids that are URLs of client ID metadata documents.'),
    require_https: boolKey({ default: true }).describe(
      'Require https for the URLs of client documents. false is accepted only with a localhost issuer.',
    ),
    cache_ttl: durationKey({ default: '1h' }).describe(
      'Maximum time that a document is cached. The cache headers of its response may shorten it.',
    ),
    stale_if_error: durationKey({ default: '168h', min: 0, max: 720 * 3600 }).describe(
      'How long a stored client continues with the last good copy of its document while its host does not send the document. The time begins when the copy has been cached for cimd.cache_ttl. 404 and 410 end it at once. 0: never.',
    ),
    fetch_timeout: durationKey({ default: '10s' }).describe('Deadline of one fetch.'),
    allow_private_addresses: boolKey({ default: false }).describe(
      'Allow outbound fetches to loopback and private networks. Only with a localhost issuer.',
    ),
    allow_hosts: hostsKey().describe(
      `Hosts in private networks from which client documents and the keys of clients (jwks_uri) may be fetched. ${HOSTS_FORM} Any request can name such a host in its client_id, so list only hosts that may receive such requests.`,
    ),
    allowed_hosts: hostsKey().describe(
      'Hosts whose documents may be clients, as host names with `*.` as first label. Empty: all hosts. The others are refused before anything is fetched, also at the token endpoint.',
    ),
    blocked_hosts: hostsKey().describe(
      'Hosts whose documents may not be clients, as in cimd.allowed_hosts, which it overrides. It also ends the refreshing of tokens by clients of these hosts.',
    ),
  },
  session: {
    cookie_name: textKey({ default: 'service_session' }).describe(
      'Name of the session cookie. With session.secure it gets the prefix __Host-, unless the issuer is localhost.',
    ),
    max_age: durationKey({ default: '24h' }).describe('How long a sign-in lasts.'),
    secure: boolKey({ default: false }).describe(
      'Send cookies over https only. Must be true when the issuer is not localhost.',
    ),
    same_site: wordKey({ of: ['lax', 'strict', 'none'], default: 'lax' }).describe('SameSite of the cookies.'),
    secret: secretKey({ minBytes: 32 }).describe(
      'Key that signs and encrypts cookies. It or session.secrets is required when the issuer is not localhost. Otherwise, if it is empty, a temporary key is generated at each start.',
    ),
    secrets: secretsKey({ minBytes: 32 }).describe(
      'Session secrets in place of session.secret, for a rotation that signs no user out. The first one signs and encrypts; cookies, forms and nonces of all of them are accepted. In the variable or its file, commas or newlines separate them.',
    ),
  },
  rate_limit: rateLimitKeys,
  oauth: {
    assertion_max_lifetime: durationKey({ default: '10m', min: 1, max: 3600 }).describe(
      'Maximum time from now to the exp of a client assertion (private_key_jwt).',
    ),
    assertion_require_jti: boolKey({ default: true }).describe(
      'Require a jti in client assertions (private_key_jwt), which makes each usable once. Without it an assertion can be used until it expires.',
    ),
    openid: boolKey({ default: false }).describe(
      'Act as an OpenID provider: ID tokens, the userinfo and logout endpoints, and the scopes openid, profile, email, groups and offline_access.',
    ),
    id_token_alg: wordKey({ of: ID_TOKEN_ALGS, default: 'RS256' }).describe(
      'Algorithm of ID tokens and logout tokens for clients that register no id_token_signed_response_alg. If it is not signing.algorithm, a second key signs them. RS256 is the default of OpenID Connect; ES256 costs a fraction of the processor time.',
    ),
    id_token_claims: wordKey({ of: ['standard', 'all'], default: 'standard' }).describe(
      'Claims of ID tokens. standard: the email is only at the userinfo endpoint, unless the access token is for a resource. all: every ID token also has the email, if the scope email is granted.',
    ),
    require_scope: boolKey({ default: true }).describe(
      'Refuse authorize requests without scope. With false such a request gets the registered scope of the client, or every scope of the resource if the client registered none. For a resource without scopes no scope is required.',
    ),
    require_pushed_requests: boolKey({ default: false }).describe(
      'Accept authorization requests only if the client has pushed them to /oauth/par (RFC 9126). With false a client may require it for itself with require_pushed_authorization_requests.',
    ),
    narrow_scopes: boolKey({ default: true }).describe(
      'Reduce the requested scope to the scopes that the resource declares and that the client may request, if at least one remains. With false a request that contains any other scope is refused.',
    ),
    match_root_slash: boolKey({ default: false }).describe(
      'Accept https://host/ for a resource registered as https://host, and the reverse. URIs with a path always match exactly.',
    ),
    code_expiry: durationKey({ default: '60s', min: 10, max: 600 }).describe('Lifetime of an authorization code.'),
    error_content_type: wordKey({ of: ['problem', 'json'], default: 'problem' }).describe(
      'Content type of the errors of the public listener, where the Accept header names both or none of the two: problem is application/problem+json, json is application/json. The body is the same.',
    ),
    max_token_bytes: intKey({ default: 6144, min: 1024, max: 16_384 }).describe(
      'Length of an access token beyond which it has no groups claim, because proxies refuse long headers. Introspection returns the groups.',
    ),
    refresh_grace: durationKey({ default: '0s', min: 0, max: 3600 }).describe(
      'Time after its first use in which a refresh token may be used again. The response then has the newest refresh token of its family. With 0s, a second use revokes the family. 30s suits command line clients.',
    ),
  },
  client_credentials: {
    enabled: boolKey({ default: true }).describe('Offer the client_credentials grant.'),
    token_expiry: durationKey({ default: '1h' }).describe('Lifetime of machine tokens.'),
  },
  device: {
    enabled: boolKey({ default: false }).describe(
      'Offer the device authorization grant (RFC 8628): a program without a browser shows a code, and the user enters it at /device. Off by default, because attackers send such codes to users (phishing).',
    ),
    code_expiry: durationKey({ default: '10m', max: 3600 }).describe('Lifetime of a device code and its user code.'),
    interval: durationKey({ default: '5s', max: 60 }).describe(
      'Time that a device must wait between two token requests, in whole seconds. Each earlier request is refused with slow_down and adds 5 seconds.',
    ),
  },
  ciba: {
    enabled: boolKey({ default: false }).describe(
      'Offer approvals (CIBA): a client without a browser names a person, who decides at /account/requests. Only operators give a client the grant urn:openid:params:grant-type:ciba.',
    ),
    expiry: durationKey({ default: '5m', min: 10, max: 24 * 3600 }).describe(
      'How long a person may decide about an approval. A request may ask for another time with requested_expiry.',
    ),
    interval: durationKey({ default: '5s', max: 60 }).describe(
      'Time that a client must wait between two token requests for an approval, in whole seconds. Each earlier request is refused with slow_down and adds 5 seconds.',
    ),
    allow_hosts: hostsKey().describe(
      `Hosts in private networks that may be notified of a decision (ping). Without a host here an endpoint is https and public. ${HOSTS_FORM}`,
    ),
  },
  dpop: {
    enabled: boolKey({ default: true }).describe('Accept DPoP proofs; clients that send none get a bearer token.'),
    clock_skew: durationKey({ default: '10s', min: 0, max: 60 }).describe(
      'How far the clock of a client may be ahead: iat and nbf of a proof may be so much in the future.',
    ),
    nonce_ttl: durationKey({ default: '60s' }).describe('How long a nonce is accepted.'),
    proof_lifetime: durationKey({ default: '60s', max: 600 }).describe('Maximum age of a proof, by its iat.'),
    require_nonce: boolKey({ default: false }).describe('Require a nonce of this service in every proof.'),
  },
  token_exchange: {
    enabled: boolKey({ default: true }).describe('Offer token exchange (RFC 8693).'),
    allow_self_exchange: boolKey({ default: false }).describe(
      'Let a client exchange its own token. Without a resource parameter the new token has the same audience. With one it may be for any resource: no consent and no entry in the lists of that resource is needed.',
    ),
    max_chain_depth: intKey({ default: 5, min: 1, max: 10 }).describe('Maximum number of actors in the act claim.'),
    token_expiry: durationKey({ default: '1h' }).describe(
      'Lifetime of exchanged tokens, never beyond that of the subject token.',
    ),
  },
  xaa: {
    enabled: boolKey({ default: true }).describe('Accept ID-JAG assertions of trusted identity providers.'),
    jwks_cache_ttl: durationKey({ default: '1h' }).describe(
      'How long the keys of an identity provider, or of an issuer of workload tokens, are cached.',
    ),
    token_expiry: durationKey({ default: '1h' }).describe('Lifetime of the tokens that are issued for an assertion.'),
    max_assertion_age: durationKey({ default: '5m', max: 12 * 3600 }).describe(
      'Maximum age of an assertion, by its iat.',
    ),
    subject_mode: wordKey({ of: ['auto_map', 'strict'], default: 'auto_map' }).describe(
      'Which local subject an assertion is for. strict: only a subject with a mapping is accepted. auto_map: without a mapping it is the user who signed in with the same issuer and subject, otherwise a subject made of both.',
    ),
    require_resource: boolKey({ default: false }).describe('Refuse requests that name no resource.'),
    allow_public_clients: boolKey({ default: false }).describe(
      'Accept assertions from clients with a metadata document that do not authenticate (token_endpoint_auth_method none). Everyone who gets such an assertion can then redeem it.',
    ),
    allow_hosts: hostsKey().describe(
      `Hosts in private networks from which the keys of identity providers and of issuers of workload tokens may be fetched. ${HOSTS_FORM}`,
    ),
  },
  agents: {
    enable_jwks_listing: boolKey({ default: false }).describe('Publish /.well-known/agents.json.'),
  },
  oidc: oidcKeys,
  scim: {
    enabled: boolKey({ default: false }).describe(
      'Let upstream providers manage their people and groups over SCIM 2.0 at /scim/v2, and end all sessions and tokens of a person at /oauth/global-token-revocation.',
    ),
    match: wordKey({ of: SCIM_MATCHES, default: 'external_id' }).describe(
      'How the first sign-in of a person finds the account. external_id: externalId is the value of scim.subject_claim in the ID token. email: a verified email equals userName or the primary email.',
    ),
    subject_claim: textKey({ default: 'sub', max: 100 }).describe(
      'Claim of the ID token that externalId is compared with. sub for Okta and Keycloak; oid for Entra ID, with externalId mapped from objectId.',
    ),
    requests_per_second: floatKey({ default: 500, min: 0.1, max: 1_000_000 }).describe(
      'Maximum number of requests per second with one SCIM key, at all instances together. A burst may use the requests of two seconds.',
    ),
  },
  events: {
    retention: durationKey({ default: '7d', min: 60, max: 90 * 24 * 3600 }).describe(
      'How long an event waits for a webhook or stream that cannot be reached. Older events are not sent.',
    ),
    include_pii: boolKey({ default: false }).describe(
      'Include email addresses and names of users in events. Without it events name users by id only.',
    ),
    allow_hosts: hostsKey().describe(`Hosts in private networks that may receive events. ${HOSTS_FORM}`),
    push_hosts: hostsKey().describe(
      `Hosts that clients may name as the push endpoint of their own streams. Without a host here only an admin creates push streams, and clients poll. ${HOSTS_FORM}`,
    ),
  },
  resources: recordsKey(resourceRecord).describe(
    'Resources to create at the start. A resource whose slug exists already is not changed. One mint resource can also be set with SERVICE_RESOURCE_URI and SERVICE_RESOURCE_SCOPES.',
  ),
  broker_providers: recordsKey(providerRecord).describe(
    'Broker providers to create at the start. A provider whose slug exists already is not changed.',
  ),
  connect: {
    state_secret: secretKey({ minBytes: 32 }).describe(
      'Key that protects the state of the connect flow. Must differ from session.secret.',
    ),
    allowed_return_urls: listKey().describe('Return URLs of the connect flow; a resource may override them.'),
    redirect_base_url: urlKey({ default: 'http://localhost:9000' }).describe('Base of the connect callbacks.'),
    allow_hosts: hostsKey().describe(
      `Hosts in private networks that requests to broker providers may reach. ${HOSTS_FORM}`,
    ),
  },
  clients: {
    approval: wordKey({ of: ['none', 'documents', 'all'], default: 'none' }).describe(
      'Which clients an operator must approve before users can allow them anything: none, those with a metadata document, or those that registered themselves too. Clients that operators created, and those that users allowed before the key was set, need no approval.',
    ),
  },
  mfa: {
    required: wordKey({ of: ['never', 'admins', 'always'], default: 'never' }).describe(
      'Which local users need a second factor at every sign-in: none, those with the role admin, or all. A user who has none adds one after the next sign-in. Users who have a factor are always asked for it.',
    ),
  },
  webauthn: {
    enabled: boolKey({ default: true }).describe(
      'Let local users add passkeys and sign in with them. Without it the pages for users have no script.',
    ),
    rp_id: textKey().describe(
      'Domain that passkeys belong to: the host of server.issuer, or a domain above it. Empty: the host. With another value no passkey that users have works any longer.',
    ),
  },
} as const
