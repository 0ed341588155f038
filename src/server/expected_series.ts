// The series of counters that alerts use, exported as 0 from the start: the first loss or refusal is an increase.
import type { App } from '../context.ts'
import { AUDIT_EVENTS } from '../oauth/audit_events.ts'
import { allLanes } from '../telemetry/lanes.ts'

/** Bounded parts beside the queues, whose reason is `…_full` when they refuse. */
const BOUNDED = ['body_room', 'front', 'outbound', 'used_set']
/** Failures to fetch the keys of an issuer. */
const KEYS = ['dns_failed', 'connect_failed', 'tls_failed', 'timeout', 'bad_response'].map((reason) => `jwks_${reason}`)
const REFUSED: Readonly<Record<string, readonly string[]>> = {
  invalid_client: ['unknown_client', 'wrong_secret'],
  slow_down: ['rate_limited', 'address_limited', 'client_share', 'client_requests_per_second', 'client_tokens_per_day'],
}

/** Exports these series of an app. */
export function expectSeries(app: Pick<App, 'metrics' | 'lanes'>): void {
  const { metrics } = app
  const full = [...new Set([...Object.keys(allLanes(app)).map((lane) => `${lane}_lane`), ...BOUNDED])]
  const refusals = { ...REFUSED, temporarily_unavailable: [...full.map((part) => `${part}_full`), ...KEYS] }
  metrics.expect(
    'ext_audit_events_dropped_total',
    Object.keys(AUDIT_EVENTS).map((action) => ({ action })),
  )
  metrics.expect(
    'ext_refusals_total',
    Object.entries(refusals).flatMap(([error, reasons]) => reasons.map((reason) => ({ error, reason }))),
  )
  metrics.expect(
    'ext_dpop_proofs_rejected_total',
    ['iat', 'replay', 'signature'].map((reason) => ({ reason })),
  )
  metrics.expect(
    'core_http_requests_total',
    ['200', '500', '503'].map((status) => ({ method: 'POST', path: '/oauth/token', status })),
  )
}
