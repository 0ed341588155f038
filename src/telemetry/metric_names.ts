// Every metric: its name, what it says and its labels. docs/reference/metrics.md is generated from these tables.
export const COUNTERS = {
  core_tokens_issued_total: {
    help: 'Access tokens issued, any grant',
    labels: ['grant_type'],
    zero: ['authorization_code', 'refresh_token', 'client_credentials', 'token_exchange', 'jwt_bearer'],
  },
  core_tokens_refreshed_total: { help: 'Refresh-token grants', labels: [] },
  core_tokens_revoked_total: {
    help: 'Calls that revoked at least one token, of /oauth/revoke and of /admin/revocations',
    labels: ['reason'],
    zero: ['client_request', 'emergency'],
  },
  core_auth_denied_total: { help: 'Denied authorization requests', labels: ['reason'] },
  core_clients_registered_total: {
    help: 'Registrations of clients',
    labels: ['source'],
    zero: ['admin', 'dcr', 'cimd'],
  },
  core_consent_decisions_total: { help: 'Consent decisions', labels: ['decision'], zero: ['approved', 'denied'] },
  core_login_attempts_total: {
    help: 'Submissions of /login',
    labels: ['result'],
    zero: ['success', 'failure', 'locked_out', 'invalid'],
  },
  core_refresh_token_reuse_total: { help: 'Detected reuse of a refresh token', labels: [] },
  ext_refresh_retries_total: { help: 'Refresh requests answered as retries (oauth.refresh_grace)', labels: [] },
  core_introspection_total: { help: 'Calls of /oauth/introspect', labels: ['result'], zero: ['active', 'inactive'] },
  core_oidc_jwks_cache_hits_total: { help: 'Hits of the upstream JWKS cache', labels: [] },
  core_oidc_jwks_cache_misses_total: { help: 'Misses of the upstream JWKS cache', labels: [] },
  core_key_rotation_total: { help: 'Rotations of the signing key', labels: [] },
  core_upstream_token_issued_total: { help: 'Upstream tokens vended', labels: ['provider'] },
  ext_upstream_token_refresh_total: {
    help: 'Questions to providers for a fresh token',
    labels: ['provider', 'outcome'],
  },
  core_connection_connect_total: { help: 'Completed connect flows', labels: ['provider'] },
  core_connection_disconnect_total: { help: 'Disconnects', labels: ['provider'] },
  core_http_requests_total: { help: 'HTTP requests by route', labels: ['method', 'path', 'status'] },
  ext_client_credentials_issued_total: { help: 'Machine tokens issued', labels: [] },
  ext_client_credentials_denied_total: { help: 'Machine tokens denied', labels: ['reason'] },
  ext_dpop_proofs_validated_total: { help: 'DPoP proofs that passed', labels: [] },
  ext_dpop_proofs_rejected_total: { help: 'DPoP proofs that were rejected', labels: ['reason'] },
  ext_token_exchange_total: { help: 'Token exchanges', labels: ['kind'], zero: ['impersonation', 'delegation'] },
  ext_token_exchange_denied_total: { help: 'Denied token exchanges', labels: ['reason'] },
  ext_agent_tokens_issued_total: { help: 'Tokens with agent claims', labels: ['has_chain'], zero: ['true', 'false'] },
  ext_xaa_policy_evaluation_total: {
    help: 'Evaluations of XAA policies',
    labels: ['result'],
    zero: ['allowed', 'denied'],
  },
  ext_xaa_idp_operations_total: {
    help: 'Operations on the IdP registry',
    labels: ['operation'],
    zero: ['create', 'update', 'delete', 'refresh_keys'],
  },
  ext_xaa_subject_resolutions_total: {
    help: 'Resolutions of federated subjects',
    labels: ['result'],
    zero: ['mapped', 'auto_mapped', 'denied'],
  },
  ext_resource_server_ops_total: {
    help: 'Admin operations on resources',
    labels: ['op'],
    zero: ['create', 'update', 'delete'],
  },
  ext_allowlist_ops_total: { help: 'Admin operations on allow-lists', labels: ['op'], zero: ['add', 'remove'] },
  ext_audit_events_dropped_total: { help: 'Audit events that could not be written', labels: ['action'] },
  ext_telemetry_sent_total: {
    help: 'Spans, log records and pushes of metrics that a collector took',
    labels: ['signal'],
    zero: ['metrics', 'traces', 'logs'],
  },
  ext_telemetry_dropped_total: {
    help: 'Spans, log records and pushes of metrics that were given up: the collector is away or too slow',
    labels: ['signal'],
    zero: ['metrics', 'traces', 'logs'],
  },
  ext_refusals_total: {
    help: 'Requests that were refused or failed, by error code and reason',
    labels: ['error', 'reason'],
  },
} as const

export const HISTOGRAMS = {
  core_token_issuance_duration_seconds: { help: 'Issuing a token, from request to answer', labels: [] },
  core_auth_flow_duration_seconds: { help: 'From the authorize request to the code', labels: [] },
  core_cimd_fetch_duration_seconds: { help: 'Fetching a client ID metadata document', labels: [] },
  core_db_operation_duration_seconds: { help: 'Store operations', labels: ['op'] },
  core_oidc_exchange_duration_seconds: { help: 'Code exchange at the upstream OpenID provider', labels: [] },
  core_introspection_duration_seconds: { help: 'Introspection', labels: [] },
  core_key_reload_duration_seconds: { help: 'Reloading the signing keys', labels: [] },
  core_upstream_token_issuance_duration_seconds: { help: 'Vending an upstream token', labels: ['provider'] },
  core_http_request_duration_seconds: { help: 'HTTP requests by route', labels: ['method', 'path', 'status'] },
} as const

export const GAUGES = {
  core_active_clients: 'Clients that are not suspended',
  core_active_token_families: 'Token families that are not revoked',
  ext_lane_waiting: 'Jobs waiting in a lane',
  ext_lane_running: 'Batches that the workers of a lane have',
  ext_db_pool_connections: 'Connections to PostgreSQL, and requests that wait for one; none on SQLite',
  ext_storage_healthy: '1 while the database answers and can be written, else 0',
  ext_instances: 'Instances that share the database, this one included: each takes its share of the limit on requests',
  ext_signing_key_age_seconds: 'Age of the key that signs',
  ext_build_info: '1, with the version that runs',
  ext_capacity_use: 'Share of the measured ceiling that is in use; 0 before there is one',
  ext_capacity_ceiling: 'Requests a second that this process is measured to bear; 0 before it is known',
  ext_part_busy: 'Share of its time that a part is busy: threads by name, and the machine',
} as const

/** Counters whose value others keep: it is asked for at every scrape. */
export const READINGS = {
  ext_lane_jobs_total: 'Jobs that a lane took',
  ext_lane_batches_total: 'Batches that they were served in',
  ext_lane_refused_total: 'Jobs that a full lane turned away',
  ext_lane_busy_seconds_total: 'Seconds that the workers of a lane had batches, added up over its workers',
  ext_cache_hits_total: 'Reads of the store that a cache answered',
  ext_cache_misses_total: 'Reads of the store that a cache could not answer',
  ext_front_requests_total: 'Requests that each front thread answered; none where there is only one',
} as const

export type CounterName = keyof typeof COUNTERS
export type HistogramName = keyof typeof HISTOGRAMS
export type GaugeName = keyof typeof GAUGES
export type ReadingName = keyof typeof READINGS
