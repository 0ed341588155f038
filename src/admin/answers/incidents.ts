// The answer of the operation that ends what an incident reaches.
import { z } from 'zod'
import { CAPABILITIES } from '../../records/api_key.ts'
import { own } from './own_words.ts'

/** What leaked, or whose access ends. */
export const SUBJECTS = ['token', 'sign_in', 'user', 'client', 'key', 'api_key'] as const
/** What can be ended, in the order in which it is done: what would give new tokens ends first. */
export const STEPS = [
  ...(['key', 'api_key', 'disable', 'limit', 'suspend', 'sign_out', 'sign_in', 'token'] as const),
  ...(['client_tokens', 'user_tokens', 'connections'] as const),
] as const

const count = z.int().optional()
const step = z.strictObject({
  step: z.enum(STEPS),
  operation: own().describe('The operation that it is. Each has its own audit event.'),
  effect: own(),
  needs: z.enum(CAPABILITIES),
  suggested: z.boolean(),
  tokens: count.describe('Live access tokens that it ends.'),
  sign_ins: count.describe('Sign-ins that it ends: refresh tokens, or connections to providers.'),
  clients: count,
  result: z.enum(['possible', 'done', 'refused', 'failed']),
  message: z.string().optional().describe('Why it was refused.'),
})

export const incident = z.strictObject({
  subject: z.enum(SUBJECTS),
  id: z.string(),
  about: z.record(z.string(), z.string()).describe('The ids that it reaches.'),
  dry_run: z.boolean(),
  request_id: own().optional().describe('The audit events of the steps have it.'),
  steps: z.array(step),
  remains: z.array(z.string()).describe('What no step ends, and what to do by hand.'),
  report: z.string().describe('What was found and done, as text for a report.'),
})
