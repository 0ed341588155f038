// Schemas of the answers about the limits of clients.
import { z } from 'zod'

/** The limits of a client in answers. */
export const shownLimits = z
  .strictObject({ requests_per_second: z.number().optional(), tokens_per_day: z.int().optional() })
  .optional()
  .describe('Limits that an operator set for this client. 0: no limit. An absent one is that of the configuration.')
