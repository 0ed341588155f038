// Every metric: name, help text and labels. docs/reference/metrics.md is generated from these tables.
export const COUNTERS = {
  core_tokens_issued_total: {
    help: 'Access tokens issued, by grant type',
    labels: ['grant_type'],
    zero: [
      'authorization_code',
      'refresh_token',
      'client_credentials',
      'token_exchange',
      'jwt_bearer',
      'device_code',
      'ciba',
    ],
  },
  core_tokens_refreshed_total: { help: 'Successful refresh_token grants', labels: [] },
  core_tokens_revoked_total: {
    help: 'Calls of /oauth/revoke and /admin/revocations that revoked at least one token',
    labels: ['reason'],
    zero: ['client_request', 'emergency'],
  },
  core_auth_denied_total: { help: 'Authorization requests that were denied, by reason', labels: ['reason'] },
  core_clients_registered_total: {
    help: 'Clients registered, by source',
    labels: ['source'],
    zero: ['admin', 'dcr', 'cimd'],
  },
  core_consent_decisions_total: { help: 'Consent decisions', labels: ['decision'], zero: ['approved', 'denied'] },
  core_login_attempts_total: {
    help: 'Submitted login forms, by result',
    labels: ['result'],
    zero: ['success', 'failure', 'locked_out', 'invalid'],
  },
  ext_logins_delayed_total: {
    help: 'Logins that waited because their account had too many failures (rate_limit.account_fail_max)',
    labels: [],
  },
  core_refresh_token_reuse_total: { help: 'Detected reuses of a refresh token', labels: [] },
  ext_refresh_retries_total: { help: 'Refresh requests answered as retries (oauth.refresh_grace)', labels: [] },
  core_introspection_total: { help: 'Calls of /oauth/introspect', labels: ['result'], zero: ['active', 'inactive'] },
  core_oidc_jwks_cache_hits_total: { help: 'Hits of the JWKS cache for the upstream OpenID provider', labels: [] },
  core_oidc_jwks_cache_misses_total: { help: 'Misses of the JWKS cache for the upstream OpenID provider', labels: [] },
  core_key_rotation_total: { help: 'Rotations of the signing key', labels: [] },
  core_upstream_token_issued_total: { help: 'Upstream tokens returned to clients, by provider', labels: ['provider'] },
  ext_upstream_token_refresh_total: {
    help: 'Token refresh requests sent to providers, by outcome',
    labels: ['provider', 'outcome'],
  },
  core_connection_connect_total: { help: 'Connect flows completed, by provider', labels: ['provider'] },
  core_connection_disconnect_total: { help: 'Connections removed, by provider', labels: ['provider'] },
  core_http_requests_total: {
    help: 'HTTP requests, by method, route and status',
    labels: ['method', 'path', 'status'],
  },
  ext_scim_requests_total: {
    help: 'Requests of upstream providers to SCIM and to global token revocation, by operation and result',
    labels: ['operation', 'result'],
  },
  ext_client_credentials_issued_total: { help: 'Tokens issued by the client_credentials grant', labels: [] },
  ext_client_credentials_denied_total: {
    help: 'Requests of the client_credentials grant that were denied, by reason',
    labels: ['reason'],
  },
  ext_device_authorizations_total: {
    help: 'Device authorization requests (RFC 8628) that were answered with a code',
    labels: [],
  },
  ext_pushed_requests_total: {
    help: 'Authorization requests that were pushed (RFC 9126)',
    labels: [],
  },
  ext_device_user_codes_total: {
    help: 'User codes entered at /device, by result',
    labels: ['result'],
    zero: ['known', 'unknown', 'limited'],
  },
  ext_dpop_proofs_validated_total: { help: 'DPoP proofs that were accepted', labels: [] },
  ext_dpop_proofs_rejected_total: { help: 'DPoP proofs that were rejected, by reason', labels: ['reason'] },
  ext_token_exchange_total: {
    help: 'Tokens issued by token exchange, by kind',
    labels: ['kind'],
    zero: ['impersonation', 'delegation'],
  },
  ext_token_exchange_denied_total: { help: 'Token exchanges that were denied, by reason', labels: ['reason'] },
  ext_agent_tokens_issued_total: {
    help: 'Tokens issued with agent claims; has_chain: whether they contain an actor chain',
    labels: ['has_chain'],
    zero: ['true', 'false'],
  },
  ext_xaa_policy_evaluation_total: {
    help: 'Evaluations of policies for ID-JAG assertions (XAA), by result',
    labels: ['result'],
    zero: ['allowed', 'denied'],
  },
  ext_xaa_idp_operations_total: {
    help: 'Admin operations on identity providers, by operation',
    labels: ['operation'],
    zero: ['create', 'update', 'delete', 'refresh_keys'],
  },
  ext_xaa_subject_resolutions_total: {
    help: 'Resolutions of federated subjects to local users, by result',
    labels: ['result'],
    zero: ['mapped', 'auto_mapped', 'denied'],
  },
  ext_resource_server_ops_total: {
    help: 'Admin operations on resources, by operation',
    labels: ['op'],
    zero: ['create', 'update', 'delete', 'restore'],
  },
  ext_allowlist_ops_total: {
    help: 'Admin operations on allow-lists, by operation',
    labels: ['op'],
    zero: ['add', 'remove'],
  },
  ext_audit_refusals_left_out_total: {
    help: 'Refusals beyond the limit of the audit trail for one client, user or address',
    labels: ['action'],
  },
  ext_forwarded_for_ignored_total: {
    help: 'Requests with X-Forwarded-For while server.trusted_proxies is empty: the address of the peer counted',
    labels: [],
  },
  ext_mcp_calls_total: { help: 'Calls of tools by agents of operators', labels: ['tool'] },
  ext_audit_events_dropped_total: { help: 'Audit events that could not be written', labels: ['action'] },
  ext_event_deliveries_total: {
    help: 'Attempts to send an event to a webhook or stream, a logout to an application, or a notification of an approval to a client, by result; expired ones were never accepted in time',
    labels: ['kind', 'result'],
  },
  ext_telemetry_sent_total: {
    help: 'Spans, log records and metric pushes that a collector accepted, by signal',
    labels: ['signal'],
    zero: ['metrics', 'traces', 'logs'],
  },
  ext_telemetry_dropped_total: {
    help: 'Spans, log records and metric pushes that were dropped because the collector is unavailable or too slow, by signal',
    labels: ['signal'],
    zero: ['metrics', 'traces', 'logs'],
  },
  ext_refusals_total: {
    help: 'Requests that were refused or failed, by error code and reason',
    labels: ['error', 'reason'],
  },
} as const

export const HISTOGRAMS = {
  core_token_issuance_duration_seconds: { help: 'Time to issue a token, from request to response', labels: [] },
  core_auth_flow_duration_seconds: {
    help: 'Time from the authorization request to the authorization code',
    labels: [],
  },
  core_cimd_fetch_duration_seconds: { help: 'Time to fetch a client ID metadata document', labels: [] },
  core_db_operation_duration_seconds: { help: 'Duration of store operations', labels: ['op'] },
  core_oidc_exchange_duration_seconds: {
    help: 'Duration of the code exchange at the upstream OpenID provider',
    labels: [],
  },
  core_introspection_duration_seconds: { help: 'Duration of introspection requests', labels: [] },
  core_key_reload_duration_seconds: { help: 'Time to reload the signing keys', labels: [] },
  core_upstream_token_issuance_duration_seconds: {
    help: 'Time to return an upstream token, by provider',
    labels: ['provider'],
  },
  core_http_request_duration_seconds: {
    help: 'Duration of HTTP requests, by method, route and status',
    labels: ['method', 'path', 'status'],
  },
  ext_lane_seconds: {
    help: 'Where the time of the batches of the queues of signatures and of the storage goes: until the first job leaves the queue (waiting), until a worker has done the batch (working), and the way to the worker and back (crossing)',
    labels: ['lane', 'stage'],
    bounds: [0.0002, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 1, 5],
  },
} as const

export const GAUGES = {
  core_active_clients: 'Clients that are not suspended',
  ext_cimd_stale_clients:
    'Clients that continue with the last copy of their metadata document, because it cannot be fetched (cimd.stale_if_error)',
  core_active_token_families: 'Token families that are not revoked',
  ext_lane_waiting: 'Jobs waiting in a queue (lane)',
  ext_lane_running: 'Batches that the workers of a queue are running',
  ext_db_pool_connections:
    'PostgreSQL connections by state (open, idle), and operations that waited within the last second although all connections were in use (waiting); absent with SQLite',
  ext_storage_healthy: '1 when the database answers and is writable, otherwise 0',
  ext_disk_free_bytes: 'Free space of the file system that has the SQLite database; absent with PostgreSQL',
  ext_disk_size_bytes: 'Size of the file system that has the SQLite database; absent with PostgreSQL',
  ext_clock_seconds:
    'Time of this instance in epoch seconds, at the scrape; compare it with the time of the scrape to find a wrong clock',
  ext_lockouts: 'Addresses that are locked out, and accounts whose logins wait, after too many failed logins',
  ext_wasteful_clients: 'Clients that got at least five times the tokens that they need (GET /admin/stats/waste)',
  ext_avoidable_tokens_per_second: 'Tokens per second that these clients did not need',
  ext_events_failing_seconds:
    'Seconds since a webhook or stream began to refuse events; absent for those that accept them',
  ext_events_pending:
    'Events that wait for webhooks (webhook), pushed streams (push) and polled streams (poll) that are not paused; at most 10000 of each receiver are counted',
  ext_events_lag_seconds:
    'Age of the oldest event that waits for a webhook, pushed stream or polled stream; 0 if none waits',
  ext_instances: 'Instances that share the database, including this one; each enforces its share of the request limit',
  ext_instances_differ: 'Settings in which the instances on one database differ although they must not: 1, otherwise 0',
  ext_database_went_back:
    'Whether this instance noticed within the last day that the database is in an earlier state than before: 1, otherwise 0',
  ext_purge_age_seconds: 'Time since the last purge of each target; absent for a target that was never purged',
  ext_purge_failed: 'Whether the last purge of each target failed: 1, otherwise 0',
  ext_backup_age_seconds: 'Time since the last `service backup`; absent if there was none, and with PostgreSQL',
  ext_provider_certificate_seconds:
    'Time until the certificate of each upstream provider ends; absent for a provider to which nothing has connected since the start',
  ext_scim_call_age_seconds:
    'Time since the last request of each upstream provider over SCIM; absent for a provider that sent none, or has no SCIM key',
  ext_scim_people: 'People that each upstream provider with a SCIM key manages over SCIM',
  ext_scim_groups: 'Groups that each upstream provider with a SCIM key manages over SCIM',
  ext_signing_key_age_seconds: 'Age of the current signing key',
  ext_unsafe_settings:
    'Unsafe settings of the running service, by configuration key: 1 when the setting is unsafe, otherwise 0',
  ext_build_info: 'Always 1; the label has the running version',
  ext_capacity_use: 'Utilisation of the measured capacity, 0 to 1; 0 before capacity was measured',
  ext_capacity_ceiling: 'Measured capacity of this process in requests per second; 0 before it was measured',
  ext_part_busy: 'Utilisation of each component, 0 to 1: threads by name, the whole process, and the machine',
} as const

/** Counters that other parts keep. They are read at scrape time. */
export const READINGS = {
  ext_lane_jobs_total: 'Jobs that a queue accepted',
  ext_lane_batches_total: 'Batches in which a queue ran its jobs',
  ext_lane_refused_total: 'Jobs refused because the queue was full',
  ext_lane_busy_seconds_total: 'Busy time of the workers of a queue in seconds, summed over its workers',
  ext_cache_hits_total: 'Store reads that a cache answered',
  ext_cache_misses_total: 'Store reads that a cache could not answer',
  ext_front_requests_total: 'Requests answered by each front thread; absent with a single front thread',
} as const

export type CounterName = keyof typeof COUNTERS
/** The names of the grants. */
export type GrantLabel = (typeof COUNTERS.core_tokens_issued_total.zero)[number]
export type HistogramName = keyof typeof HISTOGRAMS
export type GaugeName = keyof typeof GAUGES
export type ReadingName = keyof typeof READINGS
