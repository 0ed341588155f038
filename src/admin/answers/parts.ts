// Parts that several schemas of answers have, and the longer members of clients.
import { z } from 'zod'
import { own } from './own_words.ts'

/** The member `warning` of an answer. */
export const hostWarning = z
  .string()
  .optional()
  .describe('Why requests to a host of the record are refused, and the configuration key that allows them.')

/** The members of a client that a document sets. */
export const documentFields = z.strictObject({
  client_name: z.string(),
  redirect_uris: z.array(z.string()),
  grant_types: z.array(z.string()),
  application_type: z.enum(['web', 'native']),
  scope: z.string(),
})
/** Where the document of a client comes from, and whether it can be fetched. */
export const documentState = {
  document_source: z
    .enum(['fetched', 'stored'])
    .optional()
    .describe(
      'Only for a client with a metadata document. stored: an operator keeps the document, and it is never fetched.',
    ),
  document_fetched_at: z.iso.datetime().optional().describe('When the document that the client has was fetched.'),
  document_error: z
    .string()
    .nullable()
    .optional()
    .describe('Why the last fetch of the document failed. null: it succeeded, or nothing is fetched.'),
}
/** The document itself, which is long: lists do not show it. */
export const keptDocument = z
  .record(z.string(), z.unknown())
  .optional()
  .describe('The document that an operator keeps, as it was given.')
/** A workload identity that proves a client. */
export const federatedCredential = z.strictObject({
  issuer: z.string(),
  subject: z.string(),
  audience: z.string().optional(),
  claims: z.record(z.string(), z.string()).optional(),
  jwks_uri: z.string().optional(),
})

/** The refused value of a request. Absent when none was refused. */
export const sentValue = {
  parameter: own().optional().describe('The parameter whose value was refused.'),
  sent: z.string().optional().describe('The refused value. Text that looks like a secret is removed.'),
  allowed: z.array(z.string()).optional().describe('Values that would have been accepted, at most 20.'),
}

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
