// Every action of the audit trail; any other action does not compile. Operators depend on the names.

import { type DeclaredEvent, STREAM, WEBHOOK } from './audit_details.ts'
import { LONE_EVENTS } from './lone_events.ts'

const approval = ['approval_id', 'user_id', 'resource', 'scope'] as const
const apiKey = ['api_key_id', 'name', 'capability', 'provider'] as const
const changed = ['fields', 'changes'] as const
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
const revoked = ['token_type', 'jti', 'family'] as const
const scimGroup = ['group_id', 'group', 'provider'] as const

/** By name. `token_issued` and `upstream_token_issued` are read from the issuances. */
export const AUDIT_EVENTS = {
  ...LONE_EVENTS,
  api_key_created: { doc: 'An operator created a key of the admin API.', detail: apiKey },
  api_key_revoked: { doc: 'An operator revoked a key of the admin API.', detail: apiKey },
  approval_denied: { doc: 'The person who was asked, or an operator, denied an approval (CIBA).', detail: approval },
  approval_expired: { doc: 'An approval expired, because the person did not decide in time (CIBA).', detail: approval },
  approval_granted: { doc: 'The person who was asked allowed an approval (CIBA), or a part of it.', detail: approval },
  approval_requested: {
    doc: 'A client asked a person for an approval (CIBA). `link` leads to the page where the person decides. `user_id` is absent if the client named no person who could.',
    detail: [...approval, 'link'],
  },
  auth_code_reused: {
    doc: 'An authorization code (with its verifier) or a device code was used a second time. The tokens of the first use are revoked.',
    detail: [],
  },
  broker_grant_created: {
    doc: 'A user was connected to a provider.',
    detail: [...connection, 'scopes', 'version', 'impersonate_sub'],
  },
  broker_grant_revoked: {
    doc: 'A connection ended: the user or an operator ended it, or the provider no longer accepts its credential.',
    detail: [...connection, 'reason'],
  },
  broker_provider_created: { doc: 'A provider was created.', detail: provider },
  broker_provider_deleted: { doc: 'A provider was deleted.', detail: [...provider, 'cascade'] },
  broker_provider_updated: { doc: 'A provider was changed.', detail: [...provider, ...changed] },
  client_approved: { doc: 'An operator approved a client that asked for it.', detail: ['client_name'] },
  client_created: { doc: 'An operator created a client.', detail: ['client_name', 'grant_types'] },
  client_deleted: { doc: 'A client was deleted.', detail: ['force', ...toll] },
  client_denied: { doc: 'An operator denied a client that asked for approval.', detail: ['client_name'] },
  client_document_changed: {
    doc: 'The metadata document of a stored client has changed.',
    detail: ['fields', 'client_name', 'redirect_uris'],
  },
  client_document_refreshed: {
    doc: 'An operator replaced the metadata document of a client with the one at its URL.',
    detail: ['fields', 'client_name', 'redirect_uris'],
  },
  client_reactivated: { doc: 'A suspended client was reactivated.', detail: [] },
  client_registered: {
    doc: 'A client registered itself, or the first user consented to a client with a metadata document.',
    detail: ['client_name', 'redirect_uris'],
  },
  client_requested: {
    doc: 'A user wants to use a client that an operator must approve first. Only the first request of a client is recorded.',
    detail: ['client_name', 'redirect_hosts'],
  },
  client_restored: { doc: 'An operator restored a deleted client.', detail: ['client_name'] },
  client_secret_ended: {
    doc: 'One secret of a client was ended. Its other secrets stay valid.',
    detail: ['secret_id'],
  },
  client_secret_rotated: {
    doc: 'A client received a new secret. Without an overlap its earlier secrets ended at once.',
    detail: ['secret_id', 'earlier_until'],
  },
  client_suspended: { doc: 'A client was suspended; it receives no new tokens.', detail: [] },
  client_updated: { doc: 'A client was changed.', detail: changed },
  consent_denied: { doc: 'A user denied an authorization request.', detail: [...consent, 'device_address'] },
  consent_granted: { doc: 'A user allowed an authorization request.', detail: [...consent, 'device_address'] },
  consent_revoked: {
    doc: 'An operator or the user revoked the access of a client: the consent, or the sign-ins without a resource, and every token that depended on it.',
    detail: ['consent_id', 'user_id', 'resource_id', 'families'],
  },
  dcr_mode_updated: { doc: 'The client registration mode was changed.', detail: ['mode', 'before'] },
  factor_added: { doc: 'A user added a second factor.', detail: ['kind'] },
  factor_removed: { doc: 'A user removed a second factor.', detail: ['kind'] },
  factors_reset: {
    doc: 'An operator removed every second factor of a user, which ended the sign-ins of the user.',
    detail: ['user_id', 'factors'],
  },
  fronting_link_created: { doc: 'A fronting link was created.', detail: link },
  fronting_link_deleted: {
    doc: 'A fronting link was deleted, on request or together with its resource.',
    detail: [...link, 'reason'],
  },
  fronting_link_updated: { doc: 'The scope map of a fronting link was replaced.', detail: link },
  group_created: { doc: 'A provider created a group over SCIM.', detail: scimGroup },
  group_deleted: { doc: 'A provider deleted a group over SCIM.', detail: scimGroup },
  group_updated: {
    doc: 'A provider changed a group, or its members, over SCIM. Each user whose groups changed has an event of its own.',
    detail: [...scimGroup, 'fields'],
  },
  idp_created: { doc: 'An identity provider was created; its assertions are accepted.', detail: idp },
  idp_deleted: { doc: 'An identity provider was deleted.', detail: [...idp, 'policies', 'subject_mappings'] },
  idp_updated: { doc: 'An identity provider was changed.', detail: [...idp, ...changed] },
  issuance_revoked: {
    doc: 'An operator revoked a token and all tokens that were exchanged from it.',
    detail: ['jti', 'tokens'],
  },
  key_revoked: {
    doc: 'A compromised signing key was removed from the JWKS, and the tokens that it signed were revoked.',
    detail: ['kid', 'current_kid', 'tokens', 'clients'],
  },
  lockout_deleted: {
    doc: 'An operator ended the lockout of an address or of an account.',
    detail: ['address', 'user_id'],
  },
  recovery_code_used: { doc: 'A user signed in with a recovery code in place of the second factor.', detail: [] },
  recovery_codes_replaced: { doc: 'A user replaced the recovery codes.', detail: [] },
  refresh_token_reused: {
    doc: 'A refresh token was used a second time. Its token family was revoked: every token of that sign-in.',
    detail: ['family'],
  },
  resource_created: { doc: 'A resource was registered.', detail: resource },
  resource_deleted: {
    doc: 'A resource was deleted.',
    detail: [...resource, 'resource', 'cascade', 'cascaded_links', ...toll],
  },
  resource_restored: { doc: 'An operator restored a deleted resource.', detail: resource },
  resource_updated: {
    doc: 'A resource, or one of the lists of its policy, was changed.',
    detail: [...resource, ...changed, 'policy', 'added', 'removed', 'narrowed'],
  },
  stream_created: { doc: 'A stream of security events was created.', detail: STREAM },
  stream_deleted: { doc: 'A stream of security events was deleted.', detail: STREAM },
  stream_updated: { doc: 'A stream of security events was changed.', detail: [...STREAM, 'fields', 'status'] },
  subject_mapping_created: { doc: 'A subject of an identity provider was mapped to a user.', detail: mapping },
  subject_mapping_deleted: { doc: 'A subject mapping was deleted.', detail: mapping },
  token_issued: { doc: 'A token was issued.', detail: [...issued, 'retry'] },
  token_revoked: { doc: 'A client revoked a token, or an operator a sign-in of a user at a client.', detail: revoked },
  tokens_revoked: {
    doc: 'An operator revoked every token that matches a filter.',
    detail: ['client_id', 'user_id', 'agent', 'kid', 'resource', 'since', 'until', ...toll],
  },
  upstream_token_issued: { doc: 'A token of a provider was returned to a client.', detail: issued },
  user_created: {
    doc: 'An operator, or a provider over SCIM, created a user.',
    detail: ['user_id', 'role', 'groups', 'provider'],
  },
  user_deleted: { doc: 'A user was deleted.', detail: ['user_id', 'force', 'provider'] },
  user_disabled: {
    doc: 'A user was disabled; sessions and refresh tokens were revoked.',
    detail: ['user_id', 'provider'],
  },
  user_enabled: { doc: 'A disabled user was enabled.', detail: ['user_id', 'provider'] },
  user_login: { doc: 'A user signed in with a password.', detail: [] },
  user_password_link_created: {
    doc: 'An operator made a one-time link with which a user sets a password. The event never has the link.',
    detail: ['user_id'],
  },
  user_password_set: {
    doc: 'A user set a password with a one-time link. The sessions, refresh tokens and links of the user ended.',
    detail: [],
  },
  user_logout: { doc: 'A user signed out.', detail: [] },
  user_backchannel_logout: {
    doc: 'An upstream provider signed a user out with a logout token.',
    detail: ['provider', 'federated_subject', 'sessions', 'families', 'connections'],
  },
  user_email_changed: {
    doc: 'A sign-in changed the email of the account, because the provider sent another one. Or the account lost an email that its provider had not verified, because the provider of another account has verified it.',
    detail: ['provider', 'email', 'email_before'],
  },
  user_claims_changed: {
    doc: 'A sign-in at a provider, or a change of a group over SCIM, changed the groups or the name of the account, or whether its email is verified.',
    detail: ['user_id', 'provider', 'fields', 'added', 'removed'],
  },
  user_oidc_login: { doc: 'A user signed in at an upstream provider.', detail: ['created', 'provider'] },
  user_password_changed: {
    doc: 'A user changed their password on the account page. All other sessions of the user ended.',
    detail: ['user_id', 'sessions'],
  },
  user_sessions_ended: {
    doc: 'A user ended one session or all other sessions on the account page, or an operator ended one session.',
    detail: ['user_id', 'sessions'],
  },
  user_signed_out: {
    doc: 'An operator revoked the sessions and refresh tokens of a user.',
    detail: ['user_id', 'tokens_revoked', 'provider'],
  },
  user_updated: { doc: 'A user was changed.', detail: ['user_id', ...changed, 'added', 'removed', 'provider'] },
  users_imported: {
    doc: 'An operator created users with the password hashes of another system. One event for each batch.',
    detail: ['users', 'skipped'],
  },
  webhook_created: { doc: 'A webhook was created.', detail: WEBHOOK },
  webhook_deleted: { doc: 'A webhook was deleted.', detail: WEBHOOK },
  webhook_updated: { doc: 'A webhook was changed, or received a new secret.', detail: [...WEBHOOK, 'fields'] },
  xaa_policy_created: { doc: 'A policy for assertions was created.', detail: policy },
  xaa_policy_deleted: { doc: 'A policy for assertions was deleted.', detail: policy },
  xaa_policy_updated: { doc: 'A policy for assertions was changed.', detail: [...policy, ...changed] },
} as const satisfies Readonly<Record<string, DeclaredEvent>>

export type AuditAction = keyof typeof AUDIT_EVENTS
export const AUDIT_ACTIONS = Object.keys(AUDIT_EVENTS).sort() as [AuditAction, ...AuditAction[]]

/** The detail of an action: only the members that are declared for it. */
export type DetailOf<A extends AuditAction> = A extends AuditAction
  ? { readonly [M in (typeof AUDIT_EVENTS)[A]['detail'][number]]?: unknown }
  : never
