// Schemas of the answers about client activity.
import { z } from 'zod'
import { shownLimits } from './limits.ts'
import { own } from './own_words.ts'

const at = z.iso.datetime()
const count = z.int()
const requestCounts = { requests: count, refused: count, limited: count, issued: count }
export const busyClient = z.strictObject({
  client_id: z.string(),
  client_name: z.string(),
  status: z.string(),
  limits: shownLimits,
  ...requestCounts,
  share: z.number().describe('Its part of the requests of all callers, 0 to 1.'),
  reason: z.string().optional().describe('The reason of its last refusal.'),
})
export const trail = z.strictObject({
  client_id: z.string(),
  address: z.string(),
  began_at: at,
  failing: z.boolean().describe('Whether its last step failed.'),
  last_5_minutes: z
    .strictObject(requestCounts)
    .describe(
      'The requests of the last five minutes: how many were refused, of these by a limit (429), and the tokens.',
    ),
  steps: z.array(
    z.strictObject({
      step: own(),
      at,
      status: count,
      error: own().optional(),
      detail: z.string().optional(),
      reason: own().optional(),
      request_id: own(),
      count,
    }),
  ),
})
