// Schemas of the answers about the limits of clients, and about tokens that they waste.
import { z } from 'zod'

/** The limits of a client in answers. */
export const shownLimits = z
  .strictObject({ requests_per_second: z.number().optional(), tokens_per_day: z.int().optional() })
  .optional()
  .describe('Limits that an operator set for this client. 0: no limit. An absent one is that of the configuration.')

const count = z.int()
/** The report of wasted tokens. */
export const wasteAnswer = z.strictObject({
  window: count.describe('Seconds that the report covers: a day, or less when there were more tokens than it reads.'),
  wasteful_clients: count.describe('Clients that got at least five times the tokens that they need.'),
  avoidable_per_second: z.number().describe('Tokens per second that these clients did not need.'),
  cost_of_token: z
    .strictObject({ cpu_us: z.number(), bytes: z.number() })
    .describe('Processor time and storage of one token, as docs/performance.md measured them.'),
  clients: z.array(
    z.strictObject({
      client_id: z.string(),
      client_name: z.string().optional().describe('Absent when the client was deleted.'),
      tokens: count.describe('Tokens that the client got.'),
      needed: count.describe(
        'Tokens that are enough, with one live token for each subject, resource, scope, key and address.',
      ),
      times: z.number().describe('tokens divided by needed.'),
      lifetime: count.describe('Lifetime of its tokens in seconds.'),
      addresses: count.describe('Number of addresses that it uses.'),
      month: z
        .strictObject({ tokens: count, rows: count, cpu_hours: z.number(), gigabytes: z.number() })
        .describe('What the tokens that are not needed cost in 30 days at this rate.'),
      message: z.string().describe('What to write to the owner of the client.'),
    }),
  ),
})
