// The audit trail, beside the issuances (an issuance is its own event). Details hold names, never secrets or tokens.
import type { App } from '../app.ts'
import { newId } from '../lib/id.ts'

/** Everything that is recorded; the names are an interface to operators. `token_issued` and `upstream_token_issued` are read from the issuances. */
export const AUDIT_ACTIONS = [
  'admin_ui_login',
  'auth_code_reused',
  'auth_denied',
  'auth_locked_out',
  'broker_grant_created',
  'broker_grant_revoked',
  'broker_provider_created',
  'broker_provider_deleted',
  'broker_provider_updated',
  'client_created',
  'client_credentials_denied',
  'client_deleted',
  'client_document_fetched',
  'client_reactivated',
  'client_registered',
  'client_secret_rotated',
  'client_suspended',
  'client_updated',
  'consent_denied',
  'consent_granted',
  'consent_revoked',
  'dcr_mode_updated',
  'fronting_link_created',
  'fronting_link_deleted',
  'fronting_link_updated',
  'idp_created',
  'idp_deleted',
  'idp_keys_refreshed',
  'idp_updated',
  'issuance_revoked',
  'jwt_bearer_denied',
  'key_revoked',
  'key_rotated',
  'refresh_token_reused',
  'resource_created',
  'resource_deleted',
  'resource_updated',
  'subject_mapping_created',
  'subject_mapping_deleted',
  'token_examined',
  'token_exchange_denied',
  'token_issue_denied',
  'token_issued',
  'token_refresh_denied',
  'token_revoked',
  'token_tried',
  'tokens_revoked',
  'upstream_token_issued',
  'user_created',
  'user_deleted',
  'user_disabled',
  'user_enabled',
  'user_login',
  'user_login_failed',
  'user_logout',
  'user_oidc_login',
  'user_oidc_login_failed',
  'user_signed_out',
  'user_updated',
  'xaa_policy_created',
  'xaa_policy_deleted',
  'xaa_policy_updated',
] as const
export type AuditAction = (typeof AUDIT_ACTIONS)[number]

export interface AuditEntry {
  action: AuditAction
  /** User id, client id, `admin`, `system`, or empty when nobody is known. */
  actor_id: string
  client_id?: string
  /** Address of the caller. */
  ip: string
  request_id?: string
  detail?: Record<string, unknown>
}

/** Records an event. Resolves when it is committed, or when it could not be (which is logged and counted). */
export async function audit(app: App, { detail = {}, ...entry }: AuditEntry): Promise<void> {
  try {
    await app.store.recordAudit({ id: newId(), created_at: app.clock.now(), detail, ...entry })
  } catch (error) {
    app.metrics.count('ext_audit_events_dropped_total', { action: entry.action })
    app.log.error({ err: error, action: entry.action, request_id: entry.request_id }, 'an audit event was not recorded')
  }
}
