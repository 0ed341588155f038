// Schemas of the answers about client activity.
import { z } from 'zod'
import { shownLimits } from './limits.ts'
import { own, ownRecord } from './own_words.ts'
import { sentValue } from './parts.ts'

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
      ...sentValue,
      request_id: own(),
      count,
    }),
  ),
})
export const failure = z.strictObject({
  client_id: z.string(),
  step: own(),
  status: count,
  error: own(),
  reason: own(),
  detail: z.string(),
  ...sentValue,
  address: z.string(),
  request_id: own().describe('The last of these requests.'),
  count,
  first_at: at,
  last_at: at,
})
const counts = ownRecord(count)
export const history = z.strictObject({
  range: own(),
  period: count.describe('Seconds of a period.'),
  from: at,
  until: at,
  points: z.array(
    z.strictObject({
      at,
      ...requestCounts,
      grants: counts.optional().describe('Tokens by grant.'),
      reasons: counts.optional().describe('Refused and failed requests by reason.'),
      p50: z
        .number()
        .optional()
        .describe('Seconds in which half of the token requests were answered, at most 9 % too high.'),
      p99: z.number().optional(),
    }),
  ),
  marks: z.array(z.strictObject({ at, kind: z.enum(['deploy', 'key', 'configuration']), text: own() })),
})
