// What goes wrong before a client has a code: its registration, its document, its authorization request.

/** The client never gets to the sign-in. */
export const BEFORE_SIGN_IN = [
  [
    'unknown_client',
    'No client has this `client_id`. It was deleted, or, after a [restore](backup.md#after-a-restore), it was created after the backup',
    'The client must register again',
    'find',
  ],
  [
    'client_suspended',
    'An operator suspended the client',
    '`service admin client reactivate --name <name>`, or on the admin page',
    'reactivate_client',
  ],
  [
    'unregistered_redirect_uri',
    'The redirect URI does not exactly match a registered one',
    'Register it. Only the port of a loopback address may differ',
    'find',
  ],
  [
    'missing_redirect_uri',
    'Several redirect URIs are registered, and the request names none',
    'The client must send `redirect_uri` with each authorization request',
    'find',
  ],
  [
    'missing_code_challenge unsupported_challenge_method malformed_code_challenge',
    'PKCE with `S256` is required',
    'Use a newer version of the client',
  ],
  [
    'missing_scope',
    'The request has no `scope`. The error lists the scopes of the resource',
    'List them in `scopes_supported` of the resource server, or set `oauth.require_scope: false`',
    'explain',
  ],
  [
    'no_scope',
    'The request has no `scope`, and the client has no default scope that the resource declares',
    'Change the scope of the client (`service admin client update --scopes`), or request a scope',
    'explain',
  ],
  [
    'scope_not_in_catalog',
    'The resource does not declare the scope',
    'Declare it (`service admin resource update`), or correct the client',
    'explain',
  ],
  [
    'beyond_client_scope',
    'None of the requested scopes is in the limit that an operator set for the client. For requests without a user: in the `scope` of its registration',
    '`service admin client update --scopes`',
    'explain',
  ],
  [
    'resource_not_found',
    'No resource has exactly this URI. A slash at the end makes it a different URI',
    'Compare it with `service admin resource list`. Correct the client, or the resource: `service admin resource update --uri`',
    'find',
  ],
  [
    'root_slash',
    'The URI of the resource has no path, and the request differs from it only by the slash at the end',
    '`oauth.match_root_slash: true` accepts both forms',
    'find',
  ],
  [
    'grant_not_registered',
    'The client is not registered for this grant',
    '`service admin client update --grant-types`',
    'find',
  ],
  [
    'grant_disabled unknown_grant',
    'The grant is disabled in the configuration, or does not exist',
    'Enable it: `client_credentials.enabled`, `token_exchange.enabled`, `xaa.enabled`, `device.enabled`, `ciba.enabled`',
  ],
  [
    'secret_in_url',
    'The URL contains a client secret',
    'Give the client a new secret, because this one is now in logs',
    'audit',
  ],
  [
    'consent_denied access_denied device_denied approval_denied',
    'The user refused the request, or a policy does not allow it',
    'Nothing, if the user decided so. Otherwise the error description names the policy',
    'explain',
  ],
  [
    'missing_client_id missing_response_type unsupported_response_type unsupported_response_mode request_object request_uri malformed_dpop_jkt bad_acr_values bad_max_age bad_id_token_hint bad_prompt bad_nonce authorization_details request_uri_pushed proof_key bad_binding_message bad_requested_expiry bad_client_notification_token login_hint_token missing_login_hint',
    'A parameter of the authorization request, or of the request for an approval, is missing, malformed or not supported',
    'Correct the client. The error description names the parameter',
  ],
  [
    'unknown_request_uri request_uri_used',
    'The `request_uri` of a pushed request is unknown, was opened too late, belongs to another client, or was answered before',
    'The client pushes the request again, and opens its `request_uri` within 60 s: [single actions](../guides/single-actions.md)',
  ],
  [
    'not_pushed',
    'The client must push its authorization requests, and sent one in the URL',
    'The client sends it to `/oauth/par` first. `oauth.require_pushed_requests` and the member `require_pushed_authorization_requests` of the client decide',
  ],
  [
    'pushed_too_many',
    'An address, or a public or self-registered client, pushed more requests than are kept for it, or all of them together did',
    'Wait as `Retry-After` says, or create a client with a secret or keys as an operator',
  ],
  [
    'details_malformed details_too_large details_too_many details_type details_schema details_not_granted',
    'The `authorization_details` do not fit the types of the resource, or go beyond what was granted',
    'Correct the element that the error description names, or the types of the resource: [single actions](../guides/single-actions.md)',
  ],
  [
    'request_too_long too_many_long_requests',
    'The authorization request is too long, or too many long ones wait for their users',
    'Shorten `state` and the other parameters of the client',
  ],
] as const

/** Registration and client documents. */
export const REGISTRATION = [
  [
    'admin_only cimd_admin_only',
    '`dcr.mode` is `admin_only`',
    'Create the client yourself, or use [another mode](../guides/dcr.md)',
  ],
  [
    'redirect_not_approved cimd_redirect_not_approved',
    'No pattern of `dcr.approved_redirects` matches',
    'Add the redirect URI of the client to `dcr.approved_redirects`, if you trust it',
    'find',
  ],
  [
    'registration_rate cimd_host_rate',
    'Too many registrations from one address, or too many documents of one host',
    'Wait, or raise `dcr.rate_limit`',
  ],
  [
    'device_code_rate',
    'Too many device codes for one address. Clients that authenticate are not limited',
    'Wait a minute, or register the client with a secret or key',
  ],
  [
    'approvals_too_many',
    'The client has ten open requests to this person, or the person has denied five within an hour',
    'The client waits as `Retry-After` says. A person who does not exist never decides',
  ],
  [
    'cimd_changes',
    'The document changes at nearly every fetch',
    'Its server must send the same document each time. The service tries again after half a minute',
  ],
  ['cimd_disabled', '`cimd.enabled` is false', 'Enable it, or register the client'],
  [
    'cimd_url cimd_not_https cimd_origin_only',
    'The URL is not https, has no path, or is not in normal form',
    'Publish the document at an https URL with a path, in the form in which a browser shows it, and use this URL as `client_id`',
    'explain',
  ],
  [
    'client_host_not_allowed',
    '`cimd.allowed_hosts` does not have the host of the document, or `cimd.blocked_hosts` has it',
    'Change the list, if you trust the host. A reload applies it',
  ],
  [
    'client_document_gone',
    'The host of the document of a client that was in use answers with 404 or 410',
    'Ask its publisher to publish the document again, or [keep it](../guides/cimd.md#a-document-that-you-keep)',
    'explain',
  ],
  ['cimd_blocked_address', 'The host has a private address', 'Serve the document from a public address'],
  [
    'cimd_dns_failed cimd_connect_failed cimd_tls_failed cimd_timeout cimd_status cimd_unavailable',
    'The service cannot fetch the document',
    'Try `curl` on the machine of the service',
    'explain',
  ],
  [
    'cimd_content_type cimd_document cimd_client_id cimd_auth_method cimd_grant_types',
    'The [document](../guides/cimd.md#the-document) is invalid',
    '`service admin client fetch-document --id <url>` lists every mistake in the document',
    'explain',
  ],
  [
    'cimd_bad_url cimd_redirect cimd_too_large cimd_bad_response cimd_bad_document',
    'The host of the document does not answer with a document',
    'Try `curl` on the machine of the service. The host must answer with status 200, without a redirect, and with at most 5 KB of JSON',
    'explain',
  ],
  [
    'jwks_*',
    'The keys of the client or of the identity provider cannot be fetched',
    'Open their URL on the machine of the service. It must show a JWK set. For an identity provider: [UpstreamKeysAway](runbook.md#upstreamkeysaway)',
    'status',
  ],
  [
    'bad_client_name bad_grant_types bad_redirect_uris bad_token_endpoint_auth_method',
    'A field of the registration is not acceptable',
    'Correct the client. The error description names the field',
  ],
] as const
