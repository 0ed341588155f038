// The reason of a failed step in plain words, and what an operator can do about it.

export interface Advice {
  why: string
  todo: string
}
const ADVICE: readonly (readonly [reason: RegExp, why: string, todo: string])[] = [
  [
    /^unknown_client$/,
    'No client with this client_id exists here.',
    'Register it, or check that it points at this server and not at another one.',
  ],
  [
    /^(missing_secret|wrong_secret|no_credentials|bad_authorization_header)$/,
    'Client authentication failed: the secret is missing or wrong.',
    'Rotate the secret and give the client the new one. Check that it authenticates with its registered method.',
  ],
  [
    /^(secret_of_public_client|public_client)$/,
    'The client is public, but the request needs a confidential client, or it sent a secret that it does not have.',
    'Create it as a confidential client, or stop sending a secret.',
  ],
  [
    /^client_suspended$/,
    'The client is suspended.',
    'Reactivate it on its page, if the reason for the suspension is gone.',
  ],
  [
    /^grant_not_registered$/,
    'The client is not registered for this grant type.',
    'Add the grant type on the page of the client.',
  ],
  [/^grant_disabled$/, 'The grant is switched off on this server.', 'Switch it on in the configuration.'],
  [
    /^resource_not_found$/,
    'The requested resource is not registered.',
    'Register it under exactly this URI. A trailing slash counts.',
  ],
  [
    /^root_slash$/,
    'The requested resource is registered with one slash more or less.',
    'Set oauth.match_root_slash, which accepts both forms.',
  ],
  [
    /^no_resource_named$/,
    'No resource was named: no resource server will accept this token.',
    'Set the default resource on the page of the client, or have the client send resource.',
  ],
  [
    /^(missing_scope|no_scope)$/,
    'The client requested no scope, but the resource has scopes.',
    'List the scopes in the metadata of the resource server, or set oauth.require_scope: false.',
  ],
  [
    /^(resource_not_covered|two_targets)$/,
    'The resource is not the one that the user allowed.',
    'The client must request the resource that it named when the user consented.',
  ],
  [
    /^(beyond_client_scope|scope_not_in_catalog|malformed_scope|default_scope_empty|scope_is_gone)$/,
    'The scope goes beyond what the client or the resource has.',
    'Compare the scopes of the client and of the resource; a request without scope gets every allowed scope.',
  ],
  [
    /^access_refused$/,
    'The user may not use the resource, or may have none of the requested scopes.',
    'Compare the groups of the user with access and the scopes of the resource.',
  ],
  [
    /^redirect_uri_mismatch$/,
    'The redirect_uri differs between the two steps.',
    'It must be the same text in both. The fault is in the client.',
  ],
  [
    /^redirect_uri|^unregistered_redirect/,
    'The redirect_uri is not registered for this client.',
    'Register exactly this URI, including the port and the slash at its end.',
  ],
  [
    /^pkce_|challenge/,
    'The PKCE verifier or challenge is missing or does not match.',
    'The client must send code_challenge with S256, then the code_verifier of the same attempt.',
  ],
  [
    /^code_|^unknown_code$/,
    'The authorization code is unknown, expired or already used.',
    'A code is valid for a minute and can be used once. The client must start again.',
  ],
  [
    /^refresh_token_reused$/,
    'A refresh token was used twice, so its whole token family was revoked.',
    'Either it was stolen, or the client lost an answer and retried. The user must sign in again.',
  ],
  [
    /^(refresh_|unknown_refresh_|family_revoked$)/,
    'The refresh token is unknown, expired or revoked.',
    'The user must sign in again.',
  ],
  [
    /^user_(inactive|disabled)$/,
    'The user is disabled.',
    'Enable the user on its page, if the reason for that is gone.',
  ],
  [
    /^(registration_rate|rate_limited|address_limited|cimd_host_rate)$/,
    'Too many requests in a short time.',
    'It may try again soon. Raise rate_limit if this is normal traffic.',
  ],
  [
    /^cimd_admin_only$|^admin_only$/,
    'Only operators may register clients here.',
    'Create the client, or change the mode on the page Settings.',
  ],
  [
    /^cimd_redirect_not_approved$|^redirect_not_approved$/,
    'A redirect URI matches no approved pattern.',
    'Add a pattern to dcr.approved_redirects, if the client is trusted.',
  ],
  [/^cimd_disabled$/, 'Metadata documents are switched off.', 'Set cimd.enabled, or register the client.'],
  [
    /^cimd_(document|client_id|content_type|auth_method|grant_types|status)/,
    'The client metadata document is not valid.',
    'Send this message to the author of the client. The page of the client can fetch the document again.',
  ],
  [
    /^cimd_(private|address|blocked|not_public)/,
    'The metadata document is on a private address, which is never fetched.',
    'Publish it on a public host. For development, set cimd.allow_private_addresses.',
  ],
  [
    /^cimd_/,
    'The client metadata document could not be fetched.',
    'Check that the URL answers from the network of this server, within the time limit.',
  ],
  [/^login_failure$/, 'The sign-in failed.', 'Reset the password on the page of the user, or enable the user.'],
  [
    /^login_locked_out$/,
    'Too many failed sign-ins from this address.',
    'Wait until the lockout ends, or end it on the page Lockouts. The page shows which accounts are attacked.',
  ],
  [
    /consent/,
    'The user has not allowed this yet.',
    'The client must send the user through the authorization request once.',
  ],
  [/^(access_denied|denied|consent_denied)$/, 'The user refused.', 'Nothing: it is the decision of the user.'],
  [
    /nonce/,
    'The client must repeat its DPoP proof with the nonce of this answer.',
    'Nothing, if the next step succeeds. Otherwise the client does not support nonces.',
  ],
  [
    /^(proof|dpop|iat|htu|htm|jti|ath|jkt|replay)/,
    'The DPoP proof was refused.',
    'Check the clock of the client, and that the issuer is the public URL of the token endpoint.',
  ],
  [
    /^(unknown_issuer|issuer_disabled)$/,
    'The identity provider of the assertion is not registered, or it is disabled.',
    'Register or enable it on the page Identity providers.',
  ],
  [
    /^client_(not_approved|denied)$/,
    'An operator must approve this client (clients.approval).',
    'Approve it on the page Client requests.',
  ],
  [/^policy_denied$/, 'No policy of the identity provider allows this.', 'Add a policy for this client and resource.'],
  [
    /^subject_(not_mapped|inactive)$/,
    'The subject of the assertion is not mapped, or its user is disabled.',
    'Map it on the page Subject mappings, or enable the user.',
  ],
  [
    /^(storage_|worker_|server_error|temporarily_unavailable)/,
    'The server failed.',
    'Search its log for the request id.',
  ],
]

/** The meaning of a reason and the suggested correction. For an unknown reason, the message of the server. */
export function explain(reason = '', detail = ''): Advice {
  const found = ADVICE.find(([pattern]) => pattern.test(reason))
  if (found) return { why: found[1], todo: found[2] }
  return { why: detail || 'The request was refused.', todo: 'Search the log for the request id.' }
}

const STEPS: Record<string, string> = {
  metadata: 'Read the server metadata',
  resource_metadata: 'Read the resource metadata',
  register: 'Registered itself',
  authorize: 'Requested authorization',
  login: 'The user signed in',
  consent: 'The user was asked for consent',
  token: 'Requested a token',
  introspect: 'Introspected a token',
  revoke: 'Revoked a token',
}
/** A step in words. */
export const stepName = (step: string): string => STEPS[step] ?? step.replaceAll('_', ' ')
