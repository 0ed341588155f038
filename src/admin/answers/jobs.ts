// Schemas of the answers about jobs.
import { z } from 'zod'

/** A job in a list, alone, and as the answer of an operation that takes long. */
export const job = z.strictObject({
  id: z.string(),
  operation: z.string().describe('Method and path of the request.'),
  actor_id: z.string(),
  status: z
    .enum(['running', 'done', 'failed', 'interrupted'])
    .describe('interrupted: the instance that ran it ended. Repeat the operation; what was done is not done again.'),
  rows: z.int().describe('Rows that were changed or counted so far.'),
  percent: z.int().describe('How far it is.'),
  created_at: z.iso.datetime(),
  seen_at: z.iso.datetime().describe('When its progress was stored last.'),
  answer: z.unknown().optional().describe('At its end: the answer of the operation.'),
  error: z.string().optional(),
  error_description: z.string().optional(),
})
