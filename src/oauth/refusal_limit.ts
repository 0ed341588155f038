// The limit on audit events about refusals. Anonymous callers and clients that registered themselves can cause any number of refusals, and each event is a
// row in the database. The request log and the metrics count every refusal.
import type { App } from '../context.ts'
import type { Request } from '../http/message.ts'
import { Buckets, subscriber } from '../http/rate_limit.ts'
import type { LoneAction } from './lone_events.ts'

/** Twenty at once and one a second of one client or user; five times as many of one address. */
export const openAuditedRefusals = (): App['auditedRefusals'] => ({
  names: new Buckets({ rate: 1, burst: 20 }),
  addresses: new Buckets({ rate: 5, burst: 100 }),
})

/** Whether the audit trail records another refusal of a client or user (`name`), from the address of the request. Counts those that it does not. */
export function mayAuditRefusal(
  { auditedRefusals: { names, addresses }, metrics }: Pick<App, 'auditedRefusals' | 'metrics'>,
  { remote }: Pick<Request, 'remote'>,
  name: string,
  action: LoneAction | 'auth_code_reused',
): boolean {
  // In this order: the refusals of one name must not use up the limit of its address.
  if (names.take(name) === 0 && addresses.take(subscriber(remote)) === 0) return true
  metrics.count('ext_audit_refusals_left_out_total', { action })
  return false
}
