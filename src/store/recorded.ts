// The audit event of a change is recorded in its transaction. A process that is killed leaves no change that the audit trail, webhooks
// and streams do not learn of: either both are committed or none.
import { newId } from '../lib/id.ts'
import type { ApiKey } from '../records/api_key.ts'
import type { AuditEvent } from '../records/audit_event.ts'
import type { FrontingLink } from '../records/fronting_link.ts'
import type { LockoutRecord } from '../records/lockout.ts'
import type { SubjectMapping } from '../records/subject_mapping.ts'
import type { XaaPolicy } from '../records/xaa_policy.ts'
import type { EndedApplication } from './applications.ts'
import type { RevokedConnection } from './connections.ts'
import type { RevokedConsent } from './consents.ts'
import type { EndedSessions } from './federated_users.ts'
import type { Deletion } from './resources.ts'
import type { ImportedUsers } from './user_import.ts'
import type { FederatedUser } from './users.ts'

/** What the result of an operation adds to its event, and the events that come before it. Undefined when nothing changed: then there is no event. */
interface Addition {
  actor_id?: string
  detail?: AuditEvent['detail']
  before?: readonly Pick<AuditEvent, 'action' | 'detail'>[]
}

const always = (): Addition => ({})
const withDetail = (detail: AuditEvent['detail'] | undefined): Addition | undefined => detail && { detail }

/** Operations whose result adds something to the event, or says in its own way whether something changed. */
export const ADDITIONS = {
  changePassword: (sessions: number | undefined) => withDetail(sessions === undefined ? undefined : { sessions }),
  connectBrokerGrant: (made: { id: string; version: number } | undefined) =>
    made && { detail: { grant_id: made.id, version: made.version } },
  createSession: always,
  deleteApiKey: (key: ApiKey | undefined) => key && { detail: { name: key.name, capability: key.capability } },
  deleteClient: (outcome: string | object | undefined) => (outcome === 'deleted' ? {} : undefined),
  deleteFrontingLink: (link: FrontingLink | undefined) => link && { detail: linkDetail(link) },
  deleteIdp: (dependents: { policies: number; subject_mappings: number } | undefined) =>
    withDetail(dependents && { ...dependents }),
  deleteLockout: (ended: Pick<LockoutRecord, 'address' | 'user_id'> | undefined) => withDetail(ended && { ...ended }),
  deletePolicy: (policy: XaaPolicy | undefined) => policy && { detail: policyDetail(policy) },
  deleteResource: (deletion: Deletion | undefined) =>
    deletion?.outcome === 'deleted'
      ? { detail: { cascaded_links: deletion.links.length }, before: deletion.links.map(cascadedLink) }
      : undefined,
  deleteSubjectMapping: (mapping: SubjectMapping | undefined) => mapping && { detail: mappingDetail(mapping) },
  endApplication: (ended: EndedApplication | undefined) => withDetail(ended && { ...ended }),
  endFederatedSessions(ended: EndedSessions | undefined) {
    if (!ended) return undefined
    const { user_id: actor_id, ...detail } = ended
    return { actor_id, detail }
  },
  endOtherSessions: (sessions: number) => withDetail(sessions > 0 ? { sessions } : undefined),
  importUsers: (imported: ImportedUsers | 'stale') =>
    imported !== 'stale' && imported.created > 0
      ? { detail: { users: imported.created, skipped: imported.taken.length } }
      : undefined,
  revokeBrokerGrant: (grant: RevokedConnection | undefined) =>
    grant && grant.revoked_at === undefined
      ? { detail: { grant_id: grant.id, user_id: grant.user_id, provider: grant.provider } }
      : undefined,
  revokeConsent: (revoked: RevokedConsent | undefined) =>
    revoked?.consent.revoked_at === undefined && revoked ? { detail: { families: revoked.families } } : undefined,
  // Only the event of an operator has the number of tokens.
  revokeIssuance: (tokens: number, { detail }: AuditEvent) =>
    tokens > 0 ? { detail: 'tokens' in detail ? { tokens } : {} } : undefined,
  // A code that is used twice is an event even if its tokens were revoked before.
  revokeRedemption: always,
  saveFederatedUser: (saved: FederatedUser | 'email_taken') =>
    saved !== 'email_taken' && saved.email_before !== undefined
      ? { actor_id: saved.user.id, detail: { email: saved.user.email ?? '', email_before: saved.email_before } }
      : undefined,
  savePasswordLink: always,
  saveSetting: always,
  signOutUser: (tokens_revoked: number) => ({ detail: { tokens_revoked } }),
} satisfies Record<string, (result: never, event: AuditEvent) => Addition | undefined>

/** What events say about a fronting link. */
export const linkDetail = ({ source_slug: source, target_slug: target, scope_map }: FrontingLink) => ({
  source,
  target,
  scope_map,
})
const cascadedLink = ({ source_slug: source, target_slug: target }: FrontingLink) => ({
  action: 'fronting_link_deleted',
  detail: { source, target, reason: 'resource_cascade' },
})
/** What events say about a subject mapping. */
export const mappingDetail = ({ id, idp_id, federated_subject, local_subject }: SubjectMapping) => ({
  mapping_id: id,
  idp_id,
  federated_subject,
  local_subject,
})
/** What events say about an XAA policy. */
export const policyDetail = ({ id, idp_id }: XaaPolicy) => ({ policy_id: id, idp_id })

/** The words with which all other operations say what they did: whether something changed. */
const OUTCOMES = {
  created: true,
  cycle: false,
  deleted: true,
  exists: false,
  has_grants: false,
  has_resources: false,
  has_tokens: false,
  no_provider: false,
  stale: false,
  subject_exists: false,
  too_many: false,
  updated: true,
} as const
/** A result that says whether something changed: one of these words, whether or how many, or the changed record. */
export type Telling = keyof typeof OUTCOMES | boolean | number | object | undefined
const isChange = (result: Telling): boolean => (typeof result === 'string' ? OUTCOMES[result] : Boolean(result))

/** The events of an operation with this result. None when the operation changed nothing. */
export function eventsOfChange(op: string, result: unknown, event: AuditEvent): AuditEvent[] {
  const rule = (ADDITIONS as Record<string, (result: unknown, event: AuditEvent) => Addition | undefined>)[op]
  const addition = rule ? rule(result, event) : isChange(result as Telling) ? {} : undefined
  if (!addition) return []
  const { before = [], ...added } = addition
  return [
    ...before.map((each) => ({ ...event, id: newId(), ...each })),
    { ...event, ...added, detail: { ...event.detail, ...added.detail } },
  ]
}
