// Answers about authorization details (RFC 9396).
import { z } from 'zod'

const object = z.record(z.string(), z.unknown())

/** The types that a resource declares. */
export const detailsTypes = z.array(
  z.strictObject({
    type: z.string(),
    description: z.string(),
    schema: object,
    display: z.array(z.string()).optional(),
  }),
)

/** What a token was granted beside its scope. */
export const details = z.array(object)
