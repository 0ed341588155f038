// Everything that the audit trail can say: an action that is not here does not compile. The names are an interface to operators.

/** What the members of a detail mean, whichever event they are in: names, never secrets or tokens. */
export const DETAIL = {
  added: 'What was added to the list of a policy',
  agent: 'The agent that was named',
  assertion: 'true where an ID-JAG assertion was examined, not a token',
  before: 'The registration mode until then',
  broker_provider_id: 'Id of the provider',
  cascade: 'Whether what depends on it was to go with it',
  cascaded_links: 'How many fronting links went with it',
  client_id: 'The client that was named',
  client_name: 'What users see',
  clients: 'How many clients are concerned',
  consent_id: 'Id of the consent',
  created: 'Whether the account was made by this sign-in',
  current_kid: 'The key that signs from then on',
  family: 'The sign-in that the token came of',
  email: 'The email that the identity provider names',
  families: 'How many sign-ins ended',
  federated_subject: 'The subject at the identity provider',
  fields: 'The names of the members that changed; a password without its value',
  force: 'Whether it was to go in spite of live tokens',
  grant_id: 'Id of the connection',
  grant_type: 'How the token was asked for',
  grant_types: 'What the client may ask for',
  granted: 'Whether it was granted',
  idp_id: 'Id of the identity provider',
  impersonate_sub: 'In whose name the service account acts',
  issuer: 'Issuer of the identity provider',
  jti: 'Id of the token and of its issuance',
  keys: 'How many keys it has',
  kid: 'The key',
  local_subject: 'Id of the user here',
  mapping_id: 'Id of the subject mapping',
  mode: 'The registration mode from then on',
  ours: 'Whether the token was signed by this service',
  parent: 'Id of the token that it was exchanged from',
  policies: 'How many policies went with it',
  policy: 'Which list of the resource',
  policy_id: 'Id of the policy',
  previous_kid: 'The key that signed until then',
  protocol: 'Of the provider: oauth, apikey or service_account',
  provider: 'Slug of the provider',
  reason: 'Why, in one word: the `reason` of logs and of `ext_refusals_total`',
  redirect_uris: 'Where its users are sent back to',
  removed: 'What was taken from the list of a policy',
  requests: 'How many codes and waiting requests were cancelled',
  resource: 'URI of the resource',
  resource_id: 'Id of the resource',
  retry: 'True where a retried refresh request was answered (`oauth.refresh_grace`)',
  role: 'Of the user',
  scope: 'Scope names, separated by spaces',
  scope_map: 'Which scopes in front give which ones behind',
  scopes: 'Scopes at the provider',
  since: 'Issued at this time or later, in epoch seconds',
  slug: 'Slug of what it is about',
  source: 'Slug of the resource in front',
  subject_mappings: 'How many subject mappings went with it',
  target: 'Slug of the resource behind it',
  token_type: '`access_token` or `refresh_token`',
  tokens: 'How many access tokens were revoked',
  tokens_revoked: 'How many sign-ins ended',
  until: 'Issued before this time, in epoch seconds',
  usable: 'Whether the document describes a client that could be used',
  user_id: 'Id of the user',
  version: 'How often the user connected, from 1',
} as const

interface Declared {
  /** What happened. */
  readonly doc: string
  /** The members its detail may have. */
  readonly detail: readonly (keyof typeof DETAIL)[]
}

const consent = ['scope', 'resource'] as const
const connection = ['grant_id', 'user_id', 'provider'] as const
const idp = ['idp_id', 'issuer'] as const
const issued = ['jti', 'grant_type', 'scope', 'resource', 'provider', 'family', 'parent'] as const
const link = ['source', 'target', 'scope_map'] as const
const mapping = ['mapping_id', 'idp_id', 'federated_subject', 'local_subject'] as const
const policy = ['policy_id', 'idp_id'] as const
const provider = ['broker_provider_id', 'slug', 'protocol'] as const
const resource = ['resource_id', 'slug'] as const
const toll = ['tokens', 'families', 'requests', 'clients'] as const

/** By name. `token_issued` and `upstream_token_issued` are read from the issuances. */
export const AUDIT_EVENTS = {
  admin_ui_login: { doc: 'An operator signed in to the admin page.', detail: [] },
  auth_code_reused: {
    doc: 'A code came a second time with its verifier: what the first use gave out is revoked.',
    detail: [],
  },
  auth_locked_out: { doc: 'Too many failed logins from this address.', detail: [] },
  broker_connect_failed: {
    doc: 'A user came back from a provider and was not connected: it refused, or its answer could not be used.',
    detail: ['provider', 'user_id', 'reason'],
  },
  broker_grant_created: {
    doc: 'A user was connected to a provider.',
    detail: [...connection, 'scopes', 'version', 'impersonate_sub'],
  },
  broker_grant_revoked: {
    doc: 'A connection ended: by the user, an operator, or a provider that no longer takes it.',
    detail: [...connection, 'reason'],
  },
  broker_provider_created: { doc: 'A provider was created.', detail: provider },
  broker_provider_deleted: { doc: 'A provider was deleted.', detail: [...provider, 'cascade'] },
  broker_provider_updated: { doc: 'A provider was changed.', detail: [...provider, 'fields'] },
  client_created: { doc: 'An operator created a client.', detail: ['client_name', 'grant_types'] },
  client_credentials_denied: {
    doc: 'A client that proved who it is was refused a token for itself.',
    detail: ['reason'],
  },
  client_deleted: { doc: 'A client was deleted.', detail: ['force'] },
  client_document_changed: {
    doc: 'The metadata document of a stored client says something else than before.',
    detail: ['fields', 'client_name', 'redirect_uris'],
  },
  client_document_fetched: { doc: 'An operator had a client metadata document fetched anew.', detail: ['usable'] },
  client_reactivated: { doc: 'A suspended client is active again.', detail: [] },
  client_registered: {
    doc: 'A client registered itself, or a user was the first to consent to a client metadata document.',
    detail: ['client_name', 'redirect_uris'],
  },
  client_secret_rotated: { doc: 'A client has a new secret.', detail: [] },
  client_suspended: { doc: 'A client gets no new tokens.', detail: [] },
  client_updated: { doc: 'A client was changed.', detail: ['fields'] },
  consent_denied: { doc: 'A user denied a request.', detail: consent },
  consent_granted: { doc: 'A user allowed a request.', detail: consent },
  consent_revoked: {
    doc: 'An operator revoked a consent, with every token that rested on it.',
    detail: ['consent_id', 'user_id', 'resource_id', 'families'],
  },
  dcr_mode_updated: { doc: 'Who may register clients was changed.', detail: ['mode', 'before'] },
  fronting_link_created: { doc: 'A fronting link was created.', detail: link },
  fronting_link_deleted: { doc: 'A fronting link was deleted, also with its resource.', detail: [...link, 'reason'] },
  fronting_link_updated: { doc: 'The scope map of a fronting link was replaced.', detail: link },
  idp_created: { doc: 'An identity provider is trusted.', detail: idp },
  idp_deleted: { doc: 'An identity provider was deleted.', detail: [...idp, 'policies', 'subject_mappings'] },
  idp_keys_refreshed: { doc: 'The keys of an identity provider were fetched anew.', detail: [...idp, 'keys'] },
  idp_updated: { doc: 'An identity provider was changed.', detail: [...idp, 'fields'] },
  issuance_revoked: { doc: 'An operator revoked a token and what was exchanged from it.', detail: ['jti', 'tokens'] },
  jwt_bearer_denied: {
    doc: 'A client that proved who it is was refused a token for an assertion.',
    detail: ['reason'],
  },
  key_revoked: {
    doc: 'A compromised signing key was taken out of the JWKS, and what it signed was revoked.',
    detail: ['kid', 'current_kid', 'tokens', 'clients'],
  },
  key_rotated: { doc: 'Another key signs.', detail: ['current_kid', 'previous_kid'] },
  refresh_token_reused: {
    doc: 'A refresh token came a second time: its sign-in ended, with every token of it.',
    detail: ['family'],
  },
  resource_created: { doc: 'A resource was registered.', detail: resource },
  resource_deleted: { doc: 'A resource was deleted.', detail: [...resource, 'cascade', 'cascaded_links', ...toll] },
  resource_updated: {
    doc: 'A resource, or one of the lists of its policy, was changed.',
    detail: [...resource, 'fields', 'policy', 'added', 'removed'],
  },
  subject_mapping_created: { doc: 'A subject of an identity provider was mapped to a user.', detail: mapping },
  subject_mapping_deleted: { doc: 'A subject mapping was deleted.', detail: mapping },
  token_examined: {
    doc: 'An operator took a token or assertion apart.',
    detail: ['ours', 'jti', 'assertion', 'reason'],
  },
  token_exchange_denied: { doc: 'A client that proved who it is was refused an exchange.', detail: ['reason'] },
  token_issue_denied: { doc: 'A client that proved who it is was refused a token for a code.', detail: ['reason'] },
  token_issued: { doc: 'A token was issued.', detail: [...issued, 'retry'] },
  token_refresh_denied: { doc: 'A client that proved who it is was refused a refresh.', detail: ['reason'] },
  token_revoked: { doc: 'A client revoked a token.', detail: ['token_type', 'jti', 'family'] },
  token_tried: {
    doc: 'An operator asked for a token as a client would; where it was granted, it was issued.',
    detail: ['granted', 'reason'],
  },
  tokens_revoked: {
    doc: 'An operator revoked every token that fits what was named.',
    detail: ['client_id', 'user_id', 'agent', 'kid', 'resource', 'since', 'until', ...toll],
  },
  upstream_token_issued: { doc: 'A token of a provider was handed out.', detail: issued },
  user_created: { doc: 'An operator created a user.', detail: ['user_id', 'role'] },
  user_deleted: { doc: 'A user was deleted.', detail: ['user_id', 'force'] },
  user_disabled: { doc: 'A user was disabled; sessions and refresh tokens ended.', detail: ['user_id'] },
  user_enabled: { doc: 'A user may sign in again.', detail: ['user_id'] },
  user_login: { doc: 'A user signed in with a password.', detail: [] },
  user_login_failed: { doc: 'A sign-in with a password failed; nobody is named.', detail: [] },
  user_logout: { doc: 'A user signed out.', detail: [] },
  user_oidc_login: { doc: 'A user signed in at the upstream provider.', detail: ['created'] },
  user_oidc_login_failed: {
    doc: 'A sign-in at the upstream provider failed, after it was begun in that browser.',
    detail: ['provider', 'reason', 'federated_subject', 'email', 'user_id'],
  },
  user_signed_out: {
    doc: 'An operator ended the sessions and refresh tokens of a user.',
    detail: ['user_id', 'tokens_revoked'],
  },
  user_updated: { doc: 'A user was changed.', detail: ['user_id', 'fields'] },
  xaa_policy_created: { doc: 'A policy for assertions was created.', detail: policy },
  xaa_policy_deleted: { doc: 'A policy for assertions was deleted.', detail: policy },
  xaa_policy_updated: { doc: 'A policy for assertions was changed.', detail: [...policy, 'fields'] },
} as const satisfies Readonly<Record<string, Declared>>

export type AuditAction = keyof typeof AUDIT_EVENTS
export const AUDIT_ACTIONS = Object.keys(AUDIT_EVENTS) as [AuditAction, ...AuditAction[]]

/** The detail of an action: the members that are declared for it, and no other. */
export type DetailOf<A extends AuditAction> = A extends AuditAction
  ? { readonly [M in (typeof AUDIT_EVENTS)[A]['detail'][number]]?: unknown }
  : never
