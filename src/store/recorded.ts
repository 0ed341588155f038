// The audit events that are recorded in the transaction of their change. A process that is killed leaves no change that webhooks and
// streams do not learn of: either both are committed or none.
import type { AuditEvent } from '../records/audit_event.ts'
import type { EndedApplication } from './applications.ts'
import type { RevokedConsent } from './consents.ts'
import type { EndedSessions } from './federated_users.ts'
import type { FederatedUser } from './users.ts'

/** What the result of an operation adds to its event. Undefined when the operation changed nothing: then there is no event. */
type Addition = { actor_id?: string; detail?: AuditEvent['detail'] } | undefined

const ifOutcome =
  (made: string) =>
  (outcome: unknown): Addition =>
    outcome === made ? {} : undefined
const ifTrue = (made: boolean): Addition => (made ? {} : undefined)
const ifPositive = (count: number): Addition => (count > 0 ? {} : undefined)

/** The operations whose event is recorded with them, and what their results mean for it. */
export const ADDITIONS = {
  changePassword: (sessions: number | undefined) => (sessions === undefined ? undefined : { detail: { sessions } }),
  deleteClient: ifOutcome('deleted'),
  deleteReceiver: (deleted: object | undefined) => ifTrue(deleted !== undefined),
  deleteUser: ifOutcome('deleted'),
  endApplication: (ended: EndedApplication | undefined) => ended && { detail: { ...ended } },
  endFederatedSessions(ended: EndedSessions | undefined) {
    if (!ended) return undefined
    const { user_id: actor_id, ...detail } = ended
    return { actor_id, detail }
  },
  endOtherSessions: (sessions: number) => (sessions > 0 ? { detail: { sessions } } : undefined),
  endUserSession: ifTrue,
  revokeConsent: (revoked: RevokedConsent | undefined) =>
    revoked?.consent.revoked_at === undefined && revoked ? { detail: { families: revoked.families } } : undefined,
  revokeFamily: ifPositive,
  // Only the event of an operator has the number of tokens.
  revokeIssuance: (tokens: number, { detail }: AuditEvent) =>
    tokens > 0 ? { detail: 'tokens' in detail ? { tokens } : {} } : undefined,
  // A code that is used twice is an event even if its tokens were revoked before.
  revokeRedemption: () => ({}),
  saveFederatedUser: (saved: FederatedUser | 'email_taken') =>
    saved !== 'email_taken' && saved.email_before !== undefined
      ? { actor_id: saved.user.id, detail: { email: saved.user.email ?? '', email_before: saved.email_before } }
      : undefined,
  signOutUser: (tokens_revoked: number) => ({ detail: { tokens_revoked } }),
  updateClient: ifOutcome('updated'),
  updateReceiver: ifOutcome('updated'),
  updateUser: ifOutcome('updated'),
  usePasswordLink: ifTrue,
} satisfies Record<string, (result: never, event: AuditEvent) => Addition>

/** The event of an operation with this result. Undefined when the operation changed nothing. */
export function completedEvent(op: keyof typeof ADDITIONS, result: unknown, event: AuditEvent): AuditEvent | undefined {
  const addition = (ADDITIONS[op] as (result: unknown, event: AuditEvent) => Addition)(result, event)
  return addition && { ...event, ...addition, detail: { ...event.detail, ...addition.detail } }
}
