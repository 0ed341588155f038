// The audit events that are recorded on their own.
import { type DeclaredEvent, STREAM, WEBHOOK } from './audit_details.ts'

const failedSignIn = ['provider', 'reason', 'expected', 'found', 'federated_subject', 'email', 'user_id'] as const

/**
 * Actions that change no record, or only what is not in the database: the keys of a folder or of a key management service, the configuration
 * file, caches. Every other event is recorded in the transaction of its change (store/recorded.ts), and audit() does not accept it.
 */
export const LONE_EVENTS = {
  access_refused: {
    doc: 'A user was refused because the user may not use the resource, or may have none of the scopes. If the request was a refresh, the token family is revoked.',
    detail: ['user_id', 'resource', 'rule'],
  },
  account_throttled: {
    doc: 'An account had `rate_limit.account_fail_max` failed logins within an hour. Each further login to it waits until an hour after the last failure. `user_id` is absent if no account has the email.',
    detail: ['user_id'],
  },
  admin_ui_login: {
    doc: 'An operator signed in to the admin page, with a key or as a person at a provider.',
    detail: ['provider', 'user_id'],
  },
  admin_ui_login_failed: {
    doc: 'A sign-in of a person to the admin page failed. Only sign-ins that were started in the same browser are recorded.',
    detail: failedSignIn,
  },
  admin_ui_logout: { doc: 'An operator signed out of the admin page.', detail: ['user_id'] },
  auth_locked_out: { doc: 'Too many failed logins from this address.', detail: [] },
  broker_connect_failed: {
    doc: 'A user returned from a provider and could not be connected: the provider refused, or its response was not usable.',
    detail: ['provider', 'user_id', 'reason'],
  },
  ciba_denied: {
    doc: 'A request for an approval (CIBA), or an auth_req_id, of an authenticated client was refused.',
    detail: ['reason'],
  },
  client_authentication_failed: {
    doc: 'The assertion of a client was refused. If one client fails many times in a short time, only some failures are recorded.',
    detail: ['reason', 'issuer', 'subject'],
  },
  client_credentials_denied: {
    doc: 'A client_credentials request of an authenticated client was refused.',
    detail: ['reason'],
  },
  client_document_fetched: {
    doc: 'An operator requested a new fetch of a client metadata document.',
    detail: ['usable'],
  },
  config_reloaded: {
    doc: 'The configuration was read again, and changed keys were applied.',
    detail: ['applied', 'needs_restart'],
  },
  data_exported: {
    doc: 'An operator exported the audit trail or the issued tokens (`admin.audit_exports`).',
    detail: ['exported', 'filters'],
  },
  device_code_denied: { doc: 'A device code of an authenticated client was refused.', detail: ['reason'] },
  idp_keys_refreshed: {
    doc: 'The keys of an identity provider were fetched again.',
    detail: ['idp_id', 'issuer', 'keys'],
  },
  incident_handled: {
    doc: 'An operator ended what an incident reaches. Each step has its own event, with the same request_id.',
    detail: ['incident', 'jti', 'family', 'user_id', 'kid', 'api_key_id', 'steps', 'refused_steps'],
  },
  jwt_bearer_denied: {
    doc: 'An assertion of an authenticated client was refused.',
    detail: ['reason'],
  },
  key_rotated: { doc: 'The signing key was rotated.', detail: ['current_kid', 'previous_kid'] },
  stream_redelivered: {
    doc: 'An operator pushed an event to a stream once more.',
    detail: [...STREAM, 'event_id'],
  },
  stream_verification_requested: {
    doc: 'A receiver requested a verification event, which follows on its stream.',
    detail: [...STREAM, 'state'],
  },
  token_examined: {
    doc: 'An operator examined a token or an assertion.',
    detail: ['ours', 'jti', 'family', 'api_key_id', 'assertion', 'reason'],
  },
  token_exchange_denied: { doc: 'A token exchange of an authenticated client was refused.', detail: ['reason'] },
  token_issue_denied: { doc: 'An authorization code of an authenticated client was refused.', detail: ['reason'] },
  token_refresh_denied: { doc: 'A refresh token of an authenticated client was refused.', detail: ['reason'] },
  token_tried: {
    doc: 'An operator requested a token as a client; if the request was granted, the token was issued.',
    detail: ['granted', 'reason'],
  },
  user_code_rejected: {
    doc: 'A signed-in user entered a user code that no device waits for. Many of these events of one user are an attempt to guess codes.',
    detail: [],
  },
  user_login_failed: {
    doc: 'A sign-in with a password failed. The event names the user of the account if there is one. It never contains the input.',
    detail: ['user_id'],
  },
  user_oidc_login_failed: {
    doc: 'A sign-in at an upstream provider failed. Only sign-ins that were started in the same browser are recorded.',
    detail: failedSignIn,
  },
  user_password_change_failed: {
    doc: 'A user entered a wrong current password on the account page.',
    detail: [],
  },
  webhook_redelivered: {
    doc: 'An operator sent an event to a webhook once more.',
    detail: [...WEBHOOK, 'event_id'],
  },
  webhook_tested: { doc: 'An operator sent a test event to a webhook.', detail: WEBHOOK },
} as const satisfies Readonly<Record<string, DeclaredEvent>>

export type LoneAction = keyof typeof LONE_EVENTS
export const isLone = (action: string): action is LoneAction => Object.hasOwn(LONE_EVENTS, action)
