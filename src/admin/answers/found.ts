// The answers of the search for what names a record, and of the names of ids.
import { z } from 'zod'
import { trail } from './activity.ts'
import * as answers from './answers.ts'
import { own } from './own_words.ts'
import { deletedRecord, lockout } from './people.ts'
import { key } from './service.ts'

const match = z.union([
  answers.client.extend({ kind: z.literal('client') }),
  answers.user.extend({ kind: z.literal('user') }),
  answers.resource.extend({ kind: z.literal('resource') }),
  answers.provider.extend({ kind: z.literal('provider') }),
  answers.issuance.extend({ kind: z.literal('token') }),
  key.extend({ kind: z.literal('key') }),
  deletedRecord
    .omit({ kind: true })
    .extend({ kind: z.literal('deleted'), what: deletedRecord.shape.kind.describe('What it was.') }),
  z.strictObject({
    kind: z.literal('address'),
    address: z.string(),
    lockout: lockout.optional(),
    events: z.array(answers.auditEvent).describe('The last 50 audit events of requests from it, within 30 days.'),
    activity: z.array(trail).describe('What callers at the address did last, from memory.'),
  }),
  z.strictObject({
    kind: z.literal('request'),
    request_id: own(),
    events: z.array(answers.auditEvent).describe('Audit events of the request.'),
    activity: z.array(trail).describe('What the callers of the request did last, from memory.'),
  }),
])

/** What a search finds. */
export const found = z.strictObject({
  matches: z.array(match).describe('The records, each as its own operation shows it, with its kind.'),
})

/** The names of ids. */
export const names = z.strictObject({
  names: z
    .record(z.string(), z.strictObject({ kind: z.enum(['client', 'user', 'resource']), name: z.string() }))
    .describe('By id. An id that names nothing is left out.'),
})
