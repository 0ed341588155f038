// What goes wrong at sign-ins, with the service itself, and with the access of operators.

/** Sign-in. */
export const SIGN_IN = [
  [
    'login_no_cookies',
    'The browser sends no cookies: it blocks them, or the page is opened in an embedded window',
    'Allow cookies for this host, or open the page in the browser of the system',
    'audit',
  ],
  [
    'login_failure login_locked_out',
    'A wrong password; too many wrong passwords from one address',
    'Wait for `rate_limit.auth_lockout`, or end the lockout: `service admin lockout list`, `service admin lockout delete --id <id>`. If all users are locked out at once, `server.trusted_proxies` does not name the proxy',
    'audit',
  ],
  [
    'cross_site',
    'The form was sent from another site, or the proxy changes `Origin` or `Sec-Fetch-Site`',
    'The proxy must forward `Origin`, `Sec-Fetch-Site` and `Host` unchanged. Open the page at the host of the issuer',
  ],
  [
    'not_signed_in',
    'The session has ended',
    'Check `session.max_age`; use the same `session.secret` at every instance',
  ],
  [
    'waiting_request_expired',
    'The sign-in page of a very long request was open for more than an hour',
    'The user goes back to the application and starts again',
  ],
  [
    'oidc_*',
    'The sign-in at the provider failed',
    '[Sign in with your identity provider](../guides/oidc-login.md#when-it-does-not-work)',
    'status',
  ],
  [
    'login_invalid login_passkeyFailed bad_form no_cookies',
    'The form of a sign-in page cannot be used',
    'The user opens the sign-in page again, with cookies allowed',
    'audit',
  ],
  [
    'login_required',
    'The request needs a sign-in that it does not allow to ask for, or that did not help',
    'Let the client leave out `prompt=none`, or the user sign in again',
    'audit',
  ],
  [
    'password_link_invalid',
    'The link to choose a password is unknown, expired or used',
    'Send a new one: `service admin user password-link`',
  ],
  [
    'user_code_*',
    'The code that a user typed is unknown or expired, or too many were tried',
    'The user types the code that the device shows now',
  ],
  ['user_disabled', 'The user is disabled', 'Enable the user: `service admin user enable`'],
  [
    'admin_local_sign_in admin_no_capability no_session not_the_admin_page',
    'The sign-in to the admin page is not possible like this',
    'See [access of operators](admin-access.md)',
  ],
  [
    'logout_*',
    'A logout token of a provider was refused',
    'The reason names the claim. Compare the logout URL at the provider with the [guide](../guides/oidc-login.md)',
  ],
] as const

/** The service is busy or partly unavailable. */
export const BUSY = [
  [
    'storage_unavailable storage_thread_failed',
    'The database is unavailable or cannot be written',
    'The runbook: [StorageAway](runbook.md#storageaway)',
    'doctor',
  ],
  ['*_full', 'A queue, a thread or the memory is full', 'The runbook: [QueueFull](runbook.md#queuefull)', 'doctor'],
  [
    'rate_limited',
    'The limit `rate_limit.requests_per_second` is exceeded',
    'The runbook: [RateLimited](runbook.md#ratelimited)',
    'waste',
  ],
  [
    'client_share',
    'One client uses more than four fifths of `rate_limit.requests_per_second` while other clients send requests, too',
    'Correct the loop in that client, raise the limit, or set `limits.requests_per_second` of the client',
    'limit_client',
  ],
  [
    'address_limited',
    'One address, as the service sees it, uses more than four fifths of `rate_limit.requests_per_second` while others send requests, too; or all addresses from which no client of operators authenticated within ten minutes do',
    'Correct the loop at that address. If it is a proxy, add it to `server.trusted_proxies`',
    'waste',
  ],
  [
    'client_requests_per_second client_tokens_per_day',
    'The client has reached its own limit',
    'The runbook: [ClientLimited](runbook.md#clientlimited)',
    'limit_client',
  ],
  [
    'breaker_open',
    'The transit engine was unavailable; the service tries again within seconds',
    '[Vault, OpenBao](transit.md#when-the-engine-is-unavailable)',
  ],
  [
    'missing_capability too_many_wrong_keys',
    'The admin key lacks the capability that the response names; or an address sent too many wrong keys, and this one is wrong too',
    'Use [a key with that capability](admin-access.md), or the right key, which is always accepted',
  ],
  [
    'server_error temporarily_unavailable worker_failed id_token_key signing_key_gone front_thread_gone transit_away',
    'A part of the service failed or is unavailable',
    'Search the log for the request id',
  ],
  [
    'encryption_off provider_missing provider_config upstream_busy',
    'A provider is not set up, or is being renewed',
    'Search the log for the request id. `service admin provider check` shows what is missing',
    'status',
  ],
  [
    'jwks_host_rate',
    'The keys of one host are requested too often',
    'Wait a minute. The service keeps keys that it has fetched',
    'status',
  ],
  [
    'missing_key wrong_key repeated_key no_key_configured not_guarded scim_key',
    'The request has no admin key, or another one',
    'See [access of operators](admin-access.md)',
  ],
  [
    'scim_* no_scim_key',
    'A request of a provider over SCIM was refused',
    'See the table of reasons in the [guide](../guides/scim.md)',
  ],
] as const

/** Agents of operators at /mcp. */
export const AGENTS = [
  [
    'foreign_origin',
    'The `Host` or `Origin` of the request is not that of `admin.mcp.url`',
    'Use the URL of `admin.mcp.url`, or correct the key',
  ],
  [
    'other_audience',
    'The access token is for another resource',
    'Let the client connect to `admin.mcp.url`, and sign in again',
  ],
  [
    'no_capability',
    'The groups of the person at the provider give no capability, or a machine sent the token',
    '`admin.sign_in.groups.viewer`, or the groups at the provider. Groups that an operator set do not count',
  ],
  [
    'beyond_scope',
    'The tool takes more scope than the access token has',
    'Let the client ask for the scopes of the challenge',
    'explain',
  ],
  [
    'beyond_admin_view',
    'The client registered itself, and asks for changes only',
    'Create the client as an operator, with `admin:operate` in its scope',
  ],
  [
    'admin_resource',
    'A grant without a sign-in of a person asks for `admin.mcp.url`',
    'Use an API key (`service admin api-key create`)',
  ],
] as const
