// What goes wrong with exchanges, tokens of providers, assertions and proofs.

/** Exchange, broker and assertions. */
export const EXCHANGE = [
  [
    'cross_client_not_authorized',
    'The token was issued to another client, and no policy of the target names the caller',
    '`service admin resource policy exchange add`',
    'explain',
  ],
  [
    'operator_gate_denied agent_attestation_required',
    'The same, for a [broker](../guides/broker.md) resource',
    'Add the client to the list of the broker resource, or of the mint resource that the client serves',
    'explain',
  ],
  [
    'subject_scope_ceiling',
    'The subject token does not hold the scope',
    'Both resources must declare the scope, and the user must grant it first',
    'explain',
  ],
  [
    'consent_missing scope_insufficient',
    'The user has not consented at the target',
    'Send the user to `consent_url`',
    'explain',
  ],
  [
    'self_exchange_not_allowed',
    'The request names no `resource`',
    'Name one, or set `token_exchange.allow_self_exchange`',
  ],
  [
    'invalid_subject_token invalid_actor_token',
    'The token is expired, revoked, or from another issuer',
    'The caller must obtain a new token. `service admin try decode` shows what is wrong with this one',
  ],
  [
    'subject_tokens_off',
    'The subject token is of an identity provider that is registered without `subject_tokens`',
    '`service admin idp update --subject-tokens --audiences`',
  ],
  [
    'logout_token',
    'The subject token is a logout token of an identity provider',
    'Send an access token or an ID token',
  ],
  [
    'actor_token_of_another_client',
    'The actor token was not issued to the caller',
    'The caller must obtain the actor token with its own client, for example by `client_credentials`',
  ],
  [
    'chain_too_deep',
    'The chain is longer than `token_exchange.max_chain_depth`',
    'Shorten the chain, or raise the limit',
  ],
  [
    'fronting_link_missing',
    'No [link](../guides/fronting.md) leads to the broker resource',
    '`service admin fronting create`',
    'explain',
  ],
  [
    'upstream_connection_missing upstream_scope_insufficient',
    'The user is not connected to the provider, or lacks a scope there',
    'Send the user to `consent_url`',
    'explain',
  ],
  [
    'upstream_answer_lost',
    'With 503: the provider may have rotated its refresh token, and the response was lost. With `consent_required`: it did rotate, and the user must connect again',
    'The next request tries again; see [providers that rotate](../guides/broker.md#providers-that-rotate-refresh-tokens)',
    'status',
  ],
  [
    'upstream_blocked_address',
    'The provider is at a private address',
    'Add its host to [`connect.allow_hosts`](deploy.md#private-networks)',
    'status',
  ],
  [
    'upstream_unavailable upstream_refused',
    'The provider is unavailable, or refuses',
    '`service admin provider check --slug <slug>` shows the response of the provider. Correct the client id or secret, or wait for the provider',
    'status',
  ],
  [
    'secret_missing secret_unusable',
    'The variable that `client_secret_ref` names is missing or unusable',
    'Set the variable in the environment of the server and restart it. `service admin provider check` confirms it',
    'audit',
  ],
  [
    'unknown_issuer issuer_disabled',
    'The `iss` of the assertion or subject token does not exactly match a registered issuer, or the issuer is disabled',
    'Compare `iss` with `service admin idp list`. Register the issuer (`service admin idp create`) or enable it (`service admin idp update --enabled`)',
  ],
  [
    'audience another_client too_old',
    'The assertion is for another server or client, or too old. For a subject token: its `aud` is not in the `audiences` of the provider',
    '`service admin try id-jag` shows each step',
  ],
  [
    'client_not_approved client_denied',
    '`clients.approval` is set, and no operator has approved the client, or one has denied it',
    '`service admin client-request list`, then `approve` or `deny` with `--id <id>`',
  ],
  [
    'policy_denied subject_not_mapped',
    'No policy matches; or `xaa.subject_mode` is `strict` and there is no mapping',
    '`service admin policy list`, `service admin mapping create`',
    'explain',
  ],
  [
    'agent_attestation_ambiguous_actor',
    'The client is the server of several resources, so that its consent is ambiguous',
    'Add the client to the list of the broker resource: `service admin resource policy exchange add`',
  ],
  [
    'fronting_caller_not_authorized',
    'The client is not a server of the source of the link',
    '`service admin resource policy runtime add` for the source, or list the client at the target',
    'explain',
  ],
  [
    'fronting_scope_unmapped fronting_subject_scope_insufficient',
    'The scope map of the link does not lead from the scopes of the subject token to the requested scopes',
    '`service admin fronting update --scope-map`, or request less scope',
    'explain',
  ],
  [
    'subject_not_user broker_actor_not_allowed',
    'Only a token of a user, and without `actor_token`, can be exchanged for a token of a provider',
    'Exchange the token of the user, without `actor_token`',
  ],
  [
    'subject_revoked link_deleted',
    'The token or the link ended while the exchange was decided',
    'The caller must obtain a new token',
  ],
  [
    'subject_inactive',
    'The subject of the assertion is disabled, or is the id of a client',
    'Enable the user, or correct the mapping: `service admin mapping list`',
  ],
  [
    'two_targets missing_resource ambiguous_resource assertion_resource',
    'The request names no resource, or others than its assertion or audience',
    'Let the client name one `resource`, which the assertion has',
  ],
  [
    'assertion_key',
    'The assertion is bound to another key',
    'Send a DPoP proof with the key that the assertion names',
    'audit',
  ],
  [
    'too_many_exchanges',
    'The subject token is the result of 32 successive exchanges',
    'Exchange an earlier token of the chain',
  ],
  [
    'missing_subject_token missing_actor_token bad_subject_token_type bad_actor_token_type bad_requested_token_type',
    'A parameter of the exchange is missing or not supported',
    'Correct the client. The error description names the parameter',
  ],
  [
    'malformed typ alg kid unknown_key signature issuer expired sub jti cnf scope resource act',
    'The assertion or the proof is not valid: the reason names the claim or the check',
    '`service admin try id-jag` shows each step of an assertion. A proof is made by the library of the client: use a newer version',
  ],
  [
    'upstream_*',
    'The provider refused, or could not be used',
    '`service admin provider check --slug <slug>` shows the response of the provider',
    'status',
  ],
  [
    'connect_off bad_slug unknown_provider missing_return_url return_url_not_allowed no_connect_step no_resource resource_of_another_provider missing_state unknown_state state_used forged_state state_of_another_provider state_of_another_user',
    'The connection of a user to a provider was not started here, was used before, or its URL is not correct',
    'The user starts the connection again: [broker](../guides/broker.md)',
  ],
] as const

/** DPoP. */
export const DPOP = [
  [
    'proof_missing',
    'The client, code or token is bound to a key',
    'The client must send a `DPoP` header with each request. See the [guide](../guides/dpop.md)',
  ],
  ['other_key', 'The proof was signed with another key', 'Use the key that the code or token is bound to'],
  [
    'jwk',
    'The key of the proof is invalid: another type than EC P-256 or RSA, below 2048 bits, an even exponent or 1, coordinates that are not 32 bytes',
    'Create a P-256 key with the cryptographic library of the client, and send only its public members',
  ],
  ['htu htm', 'The URL or method of the proof is wrong', '`htu` must begin with `server.issuer`'],
  [
    'iat exp nbf',
    'The proof is older than `dpop.proof_lifetime`, or from the future. For an assertion: it has no `iat`, or one in the future',
    'Synchronise the clocks of both machines (NTP). `dpop.proof_lifetime` allows a larger difference',
  ],
  ['replay', 'The proof or the assertion was used before', 'Use a new `jti` for each request, including a retry'],
  ['nonce_missing nonce', '`dpop.require_nonce` is set', 'Try again with the `DPoP-Nonce` of the response'],
  [
    'ath',
    'The proof is not for the access token of the request',
    'Compute `ath` from the access token that the request sends',
  ],
  [
    'private_jwk',
    'The proof contains a private key',
    'Replace the key, because it is now in logs of others. Send only its public members',
  ],
] as const
