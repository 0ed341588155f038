// The audit actions that a webhook subscribes to, as a list of names and patterns.
import { glob } from '../lib/glob.ts'
import { AUDIT_ACTIONS, type AuditAction } from '../oauth/audit_events.ts'

/** Read from the issuances, not from the trail. */
const ISSUED: readonly AuditAction[] = ['token_issued', 'upstream_token_issued']

/** Whether an action is read from the issuances. */
export const isIssued = (action: string): boolean => ISSUED.some((issued) => issued === action)

/** Whether patterns match an action. No pattern with `*` matches an issued token: there may be thousands of them in a second. */
export const matchesAction = (patterns: readonly string[], action: string): boolean =>
  isIssued(action) ? patterns.includes(action) : patterns.some((pattern) => glob(pattern, action))

/** The actions that patterns match. */
export const actionsOf = (patterns: readonly string[]): AuditAction[] =>
  AUDIT_ACTIONS.filter((action) => matchesAction(patterns, action))

/** The patterns that match no action. */
export const unknownPatterns = (patterns: readonly string[]): string[] =>
  patterns.filter((pattern) => actionsOf([pattern]).length === 0)
