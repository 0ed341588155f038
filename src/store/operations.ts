// Every store operation as a generator, and their types. A driver runs them.

import type { AuditEvent } from '../records/audit_event.ts'
import * as adminSessions from './admin_sessions.ts'
import * as apiKeys from './api_keys.ts'
import * as applications from './applications.ts'
import * as clientTokenCounts from './client_token_counts.ts'
import * as clients from './clients.ts'
import * as connections from './connections.ts'
import * as consents from './consents.ts'
import * as deviceRequests from './device_requests.ts'
import * as eventFeed from './event_feed.ts'
import * as eventReceivers from './event_receivers.ts'
import { purgeWindow } from './expiry.ts'
import { findFederatedClients } from './federated_subjects.ts'
import * as federatedUsers from './federated_users.ts'
import * as fronting from './fronting.ts'
import * as groups from './groups.ts'
import * as issuances from './issuances.ts'
import { recordAudit } from './issuances.ts'
import { recordKeyRevocation } from './key_revocations.ts'
import * as loginFailures from './login_failures.ts'
import type { Op } from './op.ts'
import { dropPartition, listExported, listPartitions, saveExported } from './partitions.ts'
import * as passwordLinks from './password_links.ts'
import * as providers from './providers.ts'
import * as rateBuckets from './rate_buckets.ts'
import { type ADDITIONS, eventsOfChange, type Telling } from './recorded.ts'
import { findSuccessors, recordRetry } from './refresh_retries.ts'
import * as resources from './resources.ts'
import * as retention from './retention.ts'
import * as revocations from './revocations.ts'
import * as revokedTokens from './revoked_tokens.ts'
import { listSealed, replaceSealed } from './sealed.ts'
import * as sessions from './sessions.ts'
import * as signingKeys from './signing_keys.ts'
import * as singleUses from './single_uses.ts'
import * as system from './system.ts'
import { readTokenUse } from './token_use.ts'
import * as tokens from './tokens.ts'
import * as undo from './undo.ts'
import { importUsers } from './user_import.ts'
import * as users from './users.ts'
import * as xaa from './xaa.ts'

/** Files that export only operations are spread as a whole. */
const single = {
  ...adminSessions,
  ...apiKeys,
  ...applications,
  ...clientTokenCounts,
  ...clients,
  ...connections,
  ...consents,
  ...deviceRequests,
  ...eventFeed,
  ...eventReceivers,
  ...federatedUsers,
  ...fronting,
  ...groups,
  ...issuances,
  ...loginFailures,
  ...passwordLinks,
  ...providers,
  ...rateBuckets,
  ...resources,
  ...retention,
  ...revocations,
  ...revokedTokens,
  ...sessions,
  ...signingKeys,
  ...singleUses,
  ...system,
  ...tokens,
  findSuccessors,
  importUsers,
  recordKeyRevocation,
  recordRetry,
  ...undo,
  ...users,
  ...xaa,
  dropPartition,
  findFederatedClients,
  listExported,
  listPartitions,
  listSealed,
  purgeWindow,
  readTokenUse,
  replaceSealed,
  saveExported,
}

/** A change with its audit event. */
interface RecordedChange {
  op: keyof typeof single
  input: unknown
  event: AuditEvent
}
/** Runs an operation, and records its audit events in the same transaction if it changed something. Returns what the operation returns. */
function* recordChange({ op, input, event }: RecordedChange): Op<unknown> {
  const result = yield* (single[op] as (input: unknown) => Op<unknown>)(input)
  for (const each of eventsOfChange(op, result, event)) yield* recordAudit(each)
  return result
}

/** Every operation by name. */
export const ops = { ...single, recordChange }
/** An export that is not an operation does not compile here. */
type Operable<O extends Readonly<Record<string, (input: never) => Op<unknown>>>> = O
type Ops = Operable<typeof ops>
export type OpName = keyof Ops
export type InputOf<K extends OpName> = Parameters<Ops[K]>[0]
export type ResultOf<K extends OpName> = ReturnType<Ops[K]> extends Op<infer R> ? R : never

/** A row of ADDITIONS that does not fit the result of its operation does not compile here. */
type Fitting<A extends { [K in keyof A & OpName]: (result: ResultOf<K>, event: AuditEvent) => unknown }> = keyof A
/** An operation whose event can be recorded with it: its result says whether something changed. */
export type RecordedOp = {
  [K in OpName]: K extends Fitting<typeof ADDITIONS> ? K : ResultOf<K> extends Telling ? K : never
}[OpName]

export type Operations = {
  readonly [K in OpName]: Parameters<Ops[K]> extends []
    ? () => Promise<ResultOf<K>>
    : (input: InputOf<K>) => Promise<ResultOf<K>>
}

/** Operations that only read. Their names begin with one of these verbs. */
export const isRead = (op: string): boolean => /^(find|list|count|read)/.test(op)
