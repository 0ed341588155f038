// The interface of a grant of the token endpoint. A grant is a literal of this type.
import type { Config } from '../config/schema.ts'
import type { App } from '../context.ts'
import type { Params, Request } from '../http/message.ts'
import type { LoneAction } from '../oauth/lone_events.ts'
import type { Proof } from '../oauth/tokens/dpop.ts'
import type { Authorization } from '../oauth/tokens/issue.ts'
import type { GrantFacts, GrantRule } from '../oauth/tokens/rule.ts'
import type { Client } from '../records/client.ts'
import type { CounterName } from '../telemetry/metric_names.ts'
import type { GrantType } from './grant_type.ts'

export interface GrantInput {
  request: Request
  form: Params
  client: Client
  /** The DPoP proof of the request. */
  proof?: Proof
}

export interface Grant {
  /** The grant_type on the wire. */
  readonly type: GrantType
  /** The name in records and metric labels. */
  readonly name: string
  /** The clients that may use it. */
  readonly clients: 'any' | 'confidential'
  /** No user takes part who could learn that an operator must approve the client (clients.approval). */
  readonly isMachine?: true
  /** The decision depends on the client, the resources and the settings alone, so that it holds for the next request (oauth/tokens/prepared.ts). */
  readonly isPrepared?: true
  /** The configuration key that enables it; a grant without one is always enabled. */
  readonly switch?: string
  enabled(config: Config): boolean
  /** Metrics of this grant, in addition to the common ones. */
  readonly counters?: { issued?: CounterName; denied?: CounterName }
  /** The audit action of a refusal. */
  readonly denied: Extract<LoneAction, `${string}_denied`>
  /** The rules that decide on what the request presents, in their order. `run` and explain ask them. */
  readonly rules: readonly GrantRule<GrantFacts>[]
  /** Seconds that its access tokens are valid. */
  lifetime(config: Config): number
  /** Decides on the request and returns the commit as data. Throws OAuthError. */
  run(app: App, input: GrantInput): Promise<Authorization>
}
