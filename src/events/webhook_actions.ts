// The audit actions that a webhook subscribes to, as a list of names and patterns.
import { glob } from '../lib/glob.ts'
import { AUDIT_ACTIONS, type AuditAction } from '../oauth/audit_events.ts'

/** Recorded with the issuances, not in the trail, so no webhook receives them. */
const ISSUED: readonly AuditAction[] = ['token_issued', 'upstream_token_issued']
const SENT = AUDIT_ACTIONS.filter((action) => !ISSUED.includes(action))

/** The actions that patterns match. */
export const actionsOf = (patterns: readonly string[]): AuditAction[] =>
  SENT.filter((action) => patterns.some((pattern) => glob(pattern, action)))

/** The patterns that match no action. */
export const unknownPatterns = (patterns: readonly string[]): string[] =>
  patterns.filter((pattern) => actionsOf([pattern]).length === 0)
