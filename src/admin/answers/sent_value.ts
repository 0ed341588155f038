// Members of answers for a value that was refused, beside those that are allowed.
import { z } from 'zod'
import { own } from './own_words.ts'

/** The refused value of a request. Absent when none was refused. */
export const sentValue = {
  parameter: own().optional().describe('The parameter whose value was refused.'),
  sent: z.string().optional().describe('The refused value. Text that looks like a secret is removed.'),
  allowed: z.array(z.string()).optional().describe('Values that would have been accepted, at most 20.'),
}
