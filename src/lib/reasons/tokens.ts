// What goes wrong at the token endpoint.

/** At the token endpoint. */
export const TOKEN_ENDPOINT = [
  ['wrong_secret missing_secret', 'Client authentication failed', 'After a rotation, use the new secret'],
  [
    'expired_secret',
    'The client still uses a secret whose overlap is over',
    'Use the new secret, or rotate again with an overlap: [rotate a client secret](../guides/rotate-secret.md)',
  ],
  [
    'no_credentials',
    'The request has no `client_id`, in the form or in a Basic header',
    'Send `client_id`, also if you send a `client_secret`',
  ],
  [
    'token_header',
    'The request has a `Bearer` or `DPoP` token in the `Authorization` header. A token does not authenticate a client',
    'Send `client_id` and `client_secret` in the form or with Basic, and no token',
  ],
  [
    'missing_assertion secret_of_keyed_client',
    'The client is registered for `private_key_jwt` and sent no assertion',
    'The client must sign a `client_assertion` with its key',
  ],
  [
    'method_not_registered',
    'The client sent an assertion and is registered for another method',
    'Register it for `private_key_jwt`, or configure it to send its secret',
  ],
  [
    'assertion_unknown_key assertion_signature',
    'No key of the client has signed the assertion',
    'Compare `kid` and key with `jwks` or `jwks_uri` of the client',
  ],
  [
    'assertion_key_alg',
    'The key that the assertion names is for another algorithm',
    'Sign with the algorithm of the registered key, or register a key for this one',
  ],
  ['assertion_audience', 'The assertion is for another server', '`aud` must be the issuer of this server'],
  [
    'assertion_endpoint',
    'The assertion is for another endpoint of this server, for example the token endpoint at introspection',
    '`aud` must be the issuer of this server, or the URL of the endpoint that receives the request',
  ],
  [
    'assertion_subject assertion_claims assertion_several_clients assertion_spiffe_id',
    'No client, or more than one, has a credential for the token of a workload',
    '[A job in Kubernetes](../guides/kubernetes.md#when-it-is-refused)',
  ],
  [
    'assertion_lifetime assertion_jti',
    'The assertion expires too late, or has no `jti`',
    'Change the client, or `oauth.assertion_max_lifetime`, `oauth.assertion_require_jti`',
  ],
  ['assertion_replay', 'The assertion was used before', 'Sign a new one for each request'],
  [
    'jwks_blocked_address jwks_bad_document',
    'The `jwks_uri` of the client leads to a private address, or to no key set',
    'Open the URL in a browser: it must be public and show a JWK set. Correct it: `service admin client update --jwks-uri`',
  ],
  [
    'public_client_not_allowed',
    'The document of the client says that it does not authenticate',
    'Have it publish keys (`private_key_jwt`), or set `xaa.allow_public_clients`',
  ],
  [
    'no_federated_credential',
    'No client has a federated credential or a key for the assertion that was sent as the grant',
    'Compare `iss` and `sub` of the token with the credentials of the client',
  ],
  [
    'secret_of_public_client',
    'A client without a secret sent one',
    'Remove `client_secret` from the configuration of the client, or create a confidential client',
  ],
  [
    'public_client',
    'This grant needs a client with a secret',
    'Create a client with a secret or a key: `service admin client create --auth-method client_secret_basic`',
  ],
  [
    'two_client_authentications',
    'The request authenticates with Basic and in the form',
    'Remove `client_id` and `client_secret` from the form, or the `Authorization` header',
  ],
  [
    'unknown_code code_expired',
    'The code is unknown, or older than `oauth.code_expiry`',
    'The client must redeem it at once. For slow clients raise `oauth.code_expiry`',
  ],
  [
    'code_reused',
    'The code was used twice. Its family was revoked',
    'Find out whether the client sends requests twice; otherwise the code was stolen',
  ],
  [
    'code_of_another_client redirect_uri_mismatch pkce_mismatch',
    'The code belongs to another request',
    'The client must send `client_id`, `redirect_uri` and `code_verifier` of the same authorization request. Often two sign-ins in two tabs share one stored verifier',
  ],
  [
    'unknown_refresh_token refresh_token_expired',
    'The token is unknown, or older than `dcr.default_refresh_expiry`',
    'The user signs in again. For longer sign-ins raise `dcr.default_refresh_expiry`',
  ],
  [
    'refresh_token_reused',
    'The token was used before, and its [family](../concepts/consent.md#families) was revoked',
    'The client must store each new refresh token, and only one copy of the client may run. See also `oauth.refresh_grace`',
  ],
  [
    'family_revoked',
    'The sign-in has ended: its refresh token was reused, or an operator or the user ended it',
    '`service admin audit list --client-id <id>` and `--action user_signed_out` show what ended it. The user signs in again',
  ],
  [
    'consent_revoked user_inactive',
    'The consent was revoked, or the user was disabled',
    'The user consents again, or an operator enables the user',
  ],
  [
    'access_refused',
    'The user may not use the resource, or may not have any of the scopes. The audit event `access_refused` names the user and the rule',
    'Change `access` or the groups of the scopes of the resource, or the groups of the user',
  ],
  [
    'no_resource_named',
    'Not a refusal: a `client_credentials` request named no resource, so the token has no `aud`, and no resource server will accept it',
    'The client must send `resource`, or set `default_resource` of the client',
  ],
  [
    'resource_not_covered',
    'The resource is not the authorized one. Nothing was used up',
    'The client must name the same `resource` in both requests',
  ],
  ['beyond_granted_scope', 'The request exceeds the scope of the refresh token', 'Request it at `/oauth/authorize`'],
  [
    'scope_is_gone default_scope_empty',
    'No scope is left, because scopes were removed from the resource or the client',
    'Add the scopes again, or correct the client',
  ],
  [
    'repeated_param repeated_resource',
    'A parameter has two different values',
    'Correct the client. A request may name only one resource. The same value twice counts once',
  ],
  ['bad_json', 'The body is not a form or JSON object that can be read', 'Correct the body that the client sends'],
  [
    'bad_authorization_header assertion_alg assertion_client_id assertion_exp assertion_expired assertion_iat assertion_iss assertion_kid assertion_malformed assertion_nbf assertion_sub assertion_typ assertion_type',
    'The client sent credentials that are malformed or expired',
    'Correct the client. The error description names the claim or the header',
  ],
  [
    'device_code_expired device_pending device_slow_down auth_req_id_expired approval_pending approval_slow_down',
    'The user has not decided yet, the client polls too often, or its code has expired',
    'Nothing, while the user decides. After that the client must begin again',
  ],
  [
    'unknown_device_code device_code_of_another_client device_approved device_client_not_admitted',
    'The device code is unknown, belongs to another client, or its approval was cancelled',
    'The device must request a new code with its own `client_id`',
  ],
  [
    'unknown_auth_req_id auth_req_id_of_another_client approval_approved',
    'The `auth_req_id` is unknown, belongs to another client, or what the person allowed was cancelled: the person was disabled or signed out, or an operator revoked it',
    'The client asks again: [single actions](../guides/single-actions.md)',
  ],
  [
    'refresh_token_of_another_client refresh_retry_not_derivable',
    'The refresh token belongs to another client, or was derived with a session secret that was removed',
    'The user signs in again. The client must keep its tokens apart from those of other clients',
  ],
  [
    'broker_resource',
    'Tokens of this resource come from its provider',
    'Exchange a token of the user: [broker](../guides/broker.md)',
  ],
  [
    'unknown_user',
    'No user has this id or email',
    'Create the user, or map the subject to one: `service admin mapping create`',
  ],
  [
    'missing_code missing_code_verifier missing_device_code missing_auth_req_id missing_refresh_token missing_grant_type missing_token missing_client_assertion missing_assertion_type malformed_scope',
    'A parameter of the request is missing or malformed',
    'Correct the client. The error description names the parameter',
  ],
] as const
