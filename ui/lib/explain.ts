// The reason of a failed step in plain words, and what an operator can do about it.
import { type Advice, adviceOf } from '../../src/lib/reasons/index.ts'

/** The meaning of a reason and the suggested correction. For a text that is no reason, the message of the server. */
export const explain = (reason = '', detail = ''): Advice =>
  adviceOf(reason) ?? { why: detail || 'The request was refused.', todo: 'Search the log for the request id.' }

const STEPS: Record<string, string> = {
  metadata: 'Read the server metadata',
  resource_metadata: 'Read the resource metadata',
  register: 'Registered itself',
  authorize: 'Requested authorization',
  login: 'The user signed in',
  consent: 'The user was asked for consent',
  token: 'Requested a token',
  introspect: 'Introspected a token',
  revoke: 'Revoked a token',
}
/** A step in words. */
export const stepName = (step: string): string => STEPS[step] ?? step.replaceAll('_', ' ')
