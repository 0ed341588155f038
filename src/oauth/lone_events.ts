// The audit events that are recorded on their own.
import type { AuditAction } from './audit_events.ts'

/**
 * Actions that change no record, or only what is not in the database: the keys of a folder or of a key management service, the configuration
 * file, caches. Every other event is recorded in the transaction of its change (store/recorded.ts), and audit() does not accept it.
 */
const LONE = [
  'access_refused',
  'account_throttled',
  'admin_ui_login',
  'admin_ui_login_failed',
  'admin_ui_logout',
  'auth_locked_out',
  'broker_connect_failed',
  'ciba_denied',
  'client_authentication_failed',
  'client_credentials_denied',
  'client_document_fetched',
  'config_reloaded',
  'data_exported',
  'device_code_denied',
  'idp_keys_refreshed',
  'incident_handled',
  'jwt_bearer_denied',
  'key_rotated',
  'stream_redelivered',
  'stream_verification_requested',
  'token_examined',
  'token_exchange_denied',
  'token_issue_denied',
  'token_refresh_denied',
  'token_tried',
  'user_code_rejected',
  'user_login_failed',
  'user_oidc_login_failed',
  'user_password_change_failed',
  'webhook_redelivered',
  'webhook_tested',
] as const satisfies readonly AuditAction[]
export type LoneAction = (typeof LONE)[number]
export const isLone = (action: AuditAction): action is LoneAction => LONE.some((each) => each === action)
