// Every store operation as a generator, and their types. A driver runs them.

import type { AuditEvent } from '../records/audit_event.ts'
import * as activitySums from './activity_sums.ts'
import * as apiKeys from './clients/api_keys.ts'
import * as clientDocuments from './clients/client_documents.ts'
import * as clientFailures from './clients/client_failures.ts'
import * as clientRequests from './clients/client_requests.ts'
import * as clientTokenCounts from './clients/client_token_counts.ts'
import * as clients from './clients/clients.ts'
import { findDeletedClient, findDeletedResource, listDeleted } from './clients/deleted.ts'
import * as eventFeed from './clients/event_feed.ts'
import * as eventReceivers from './clients/event_receivers.ts'
import { findFederatedClients } from './clients/federated_subjects.ts'
import * as fronting from './clients/fronting.ts'
import * as providers from './clients/providers.ts'
import * as resources from './clients/resources.ts'
import * as xaa from './clients/xaa.ts'
import { purgeWindow } from './expiry.ts'
import * as jobs from './jobs.ts'
import type { Op } from './op.ts'
import { dropPartition, listExported, listPartitions, saveExported } from './partitions.ts'
import * as adminSessions from './people/admin_sessions.ts'
import * as applicationSessions from './people/application_sessions.ts'
import * as applications from './people/applications.ts'
import * as connections from './people/connections.ts'
import * as consents from './people/consents.ts'
import * as factors from './people/factors.ts'
import { saveFederatedUser } from './people/federated_sign_in.ts'
import * as federatedUsers from './people/federated_users.ts'
import * as groups from './people/groups.ts'
import * as loginFailures from './people/login_failures.ts'
import * as passwordLinks from './people/password_links.ts'
import * as scimGroups from './people/scim_groups.ts'
import { findScimSubject, findScimUser, listScimUsers } from './people/scim_people.ts'
import { listScimStates, noteScimError } from './people/scim_providers.ts'
import * as scimUsers from './people/scim_users.ts'
import * as sessions from './people/sessions.ts'
import { importUsers } from './people/user_import.ts'
import * as users from './people/users.ts'
import { type ADDITIONS, eventsOfChange, type Telling } from './recorded.ts'
import * as retention from './retention.ts'
import { listSealed, replaceSealed } from './sealed.ts'
import * as system from './system.ts'
import * as approvals from './tokens/approvals.ts'
import * as auditTrail from './tokens/audit_trail.ts'
import { recordAudits } from './tokens/audit_trail.ts'
import { countActiveFamilies, findFamily } from './tokens/families.ts'
import * as issuances from './tokens/issuances.ts'
import { recordKeyRevocation } from './tokens/key_revocations.ts'
import * as pendingValues from './tokens/pending_values.ts'
import * as polledRequests from './tokens/polled_requests.ts'
import * as pushedRequests from './tokens/pushed_requests.ts'
import * as rateBuckets from './tokens/rate_buckets.ts'
import { findSuccessors, recordRetry } from './tokens/refresh_retries.ts'
import * as revocations from './tokens/revocations.ts'
import * as revokedTokens from './tokens/revoked_tokens.ts'
import * as signingKeys from './tokens/signing_keys.ts'
import * as singleUses from './tokens/single_uses.ts'
import { readTokenUse } from './tokens/token_use.ts'
import * as tokens from './tokens/tokens.ts'
import * as undo from './undo.ts'

/** Files that export only operations are spread as a whole. */
const single = {
  ...activitySums,
  ...adminSessions,
  ...apiKeys,
  ...applicationSessions,
  ...applications,
  ...approvals,
  ...clientFailures,
  ...auditTrail,
  ...clientRequests,
  ...clientTokenCounts,
  ...clientDocuments,
  ...clients,
  ...connections,
  ...consents,
  approvePolledRequest: polledRequests.approvePolledRequest,
  claimPolledRequest: polledRequests.claimPolledRequest,
  createPolledRequest: polledRequests.createPolledRequest,
  denyPolledRequest: polledRequests.denyPolledRequest,
  findPolledRequest: polledRequests.findPolledRequest,
  findPolledRequestByUserCode: polledRequests.findPolledRequestByUserCode,
  pollPolledRequest: polledRequests.pollPolledRequest,
  ...eventFeed,
  ...eventReceivers,
  countActiveFamilies,
  findFamily,
  ...federatedUsers,
  ...factors,
  ...fronting,
  ...jobs,
  ...groups,
  ...issuances,
  ...loginFailures,
  ...passwordLinks,
  ...pendingValues,
  ...pushedRequests,
  ...providers,
  ...rateBuckets,
  ...resources,
  ...retention,
  ...revocations,
  ...revokedTokens,
  ...scimGroups,
  findScimSubject,
  findScimUser,
  listScimStates,
  listScimUsers,
  noteScimError,
  ...scimUsers,
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
  saveFederatedUser,
  ...users,
  ...xaa,
  dropPartition,
  findDeletedClient,
  findDeletedResource,
  findFederatedClients,
  listDeleted,
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
  yield* recordAudits(eventsOfChange(op, result, event))
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
