// Schemas of the answers about instances.
import { z } from 'zod'

/** An instance in a list. */
export const instance = z.strictObject({
  host: z.string(),
  address: z.string().describe('Address of its public listener.'),
  version: z.string(),
  started_at: z.iso.datetime(),
  threads: z.int().describe('Threads that answer requests.'),
  differs: z
    .array(z.string())
    .describe('Settings that all instances must share and in which this one differs from the one that started first.'),
})
