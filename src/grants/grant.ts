// What every grant of the token endpoint is: a literal of this type.
import type { Config } from '../config/schema.ts'
import type { App } from '../context.ts'
import type { Params, Request } from '../http/message.ts'
import type { AuditAction } from '../oauth/audit_events.ts'
import type { Proof } from '../oauth/dpop.ts'
import type { Authorization } from '../oauth/issue.ts'
import type { Client } from '../records/client.ts'
import type { CounterName } from '../telemetry/metric_names.ts'

export interface GrantInput {
  request: Request
  form: Params
  client: Client
  /** The DPoP proof of the request. */
  proof?: Proof
}

export interface Grant {
  /** The grant_type on the wire. */
  readonly type: string
  /** The name in records and metric labels. */
  readonly name: string
  /** Which clients may use it at all. */
  readonly clients: 'any' | 'confidential'
  /** The configuration key that switches it on; always on without one. */
  readonly switch?: string
  enabled(config: Config): boolean
  /** Metrics of this grant beside the common ones. */
  readonly counters?: { issued?: CounterName; denied?: CounterName }
  /** What a refusal is recorded as. */
  readonly denied: Extract<AuditAction, `${string}_denied`>
  /** Decides; commits nothing. Throws OAuthError. */
  run(app: App, input: GrantInput): Promise<Authorization>
}
