// The audit event of a change is recorded in its transaction. A process that is killed leaves no change that the audit trail, webhooks
// and streams do not learn of: either both are committed or none.
import { newId } from '../lib/id.ts'
import type { ApiKey } from '../records/api_key.ts'
import type { AuditEvent } from '../records/audit_event.ts'
import type { FrontingLink } from '../records/fronting_link.ts'
import type { SubjectMapping, XaaPolicy } from '../records/idp.ts'
import type { LockoutRecord } from '../records/lockout.ts'
import { type Factor, nameChange } from '../records/user.ts'
import type { Deletion } from './clients/resources.ts'
import type { EndedApplication } from './people/applications.ts'
import type { RevokedConnection } from './people/connections.ts'
import type { RevokedConsent } from './people/consents.ts'
import type { FederatedUser } from './people/federated_sign_in.ts'
import type { EndedSessions } from './people/federated_users.ts'
import type { ScimChange } from './people/scim_users.ts'
import type { ImportedUsers } from './people/user_import.ts'

/** What the result of an operation adds to its event, and the events that come before it. Undefined when nothing changed: then there is no event. */
interface Addition {
  /** Another action than that of the event. */
  action?: string
  actor_id?: string
  detail?: AuditEvent['detail']
  before?: readonly (Pick<AuditEvent, 'action' | 'detail'> & Partial<Pick<AuditEvent, 'actor_id'>>)[]
}

const always = (): Addition => ({})
/** The events of a change over SCIM. */
const ofScim = (done: ScimChange | string | undefined): Addition | undefined => {
  const events = typeof done === 'object' ? done.events : []
  const last = events.at(-1)
  return last && { ...last, before: events.slice(0, -1) }
}
const withDetail = (detail: AuditEvent['detail'] | undefined): Addition | undefined => detail && { detail }

/** Operations whose result adds something to the event, or says in its own way whether something changed. */
export const ADDITIONS = {
  addFactor: (added: object | undefined) => added && {},
  changeScimGroup: ofScim,
  changePassword: (sessions: number | undefined) => withDetail(sessions === undefined ? undefined : { sessions }),
  connectBrokerGrant: (made: { id: string; version: number } | undefined) =>
    made && { detail: { grant_id: made.id, version: made.version } },
  createApproval: (wait: number) => (wait === 0 ? {} : undefined),
  createScimGroup: ofScim,
  createScimUser: ofScim,
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
  deleteScimGroup: ofScim,
  deleteScimUser: ofScim,
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
  removeFactor: (removed: Pick<Factor, 'kind'> | undefined) => withDetail(removed && { kind: removed.kind }),
  resetFactors: (factors: number) => withDetail(factors > 0 ? { factors } : undefined),
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
  saveFederatedUser(saved: FederatedUser | 'email_taken', { action, detail: { provider } }: AuditEvent) {
    if (saved === 'email_taken') return undefined
    const { user, email_before, changed, displaced } = saved
    const ofEmail = (actor_id: string, email: string, email_before: string) => ({
      action,
      actor_id,
      detail: { provider, email, email_before },
    })
    const events = [
      ...(displaced ? [ofEmail(displaced.user_id, '', displaced.email)] : []),
      ...(changed
        ? [
            {
              action: 'user_claims_changed',
              actor_id: user.id,
              detail: {
                provider,
                fields: changed.fields,
                ...nameChange(changed.groups_before, user.provider_groups),
              },
            },
          ]
        : []),
      ...(email_before === undefined ? [] : [ofEmail(user.id, user.email ?? '', email_before)]),
    ]
    const last = events.at(-1)
    return last && { ...last, before: events.slice(0, -1) }
  },
  revokeScimSubject: ofScim,
  savePasswordLink: always,
  saveSetting: always,
  updateScimUser: ofScim,
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
  only_exchange: false,
  stale: false,
  subject_exists: false,
  too_many: false,
  too_many_streams: false,
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
