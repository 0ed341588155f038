// Schemas of the answers about clients that wait for approval, and about metadata documents.
import { z } from 'zod'
import { APPROVAL_STATES } from '../../records/polled_request.ts'
import { details } from './parts.ts'

export const clientRequest = z.strictObject({
  id: z.string(),
  client_id: z.string(),
  client_name: z.string(),
  redirect_hosts: z.array(z.string()).describe('Where the browser would return to.'),
  resource: z.string().optional().describe('URI of the resource of the last request.'),
  requested_by: z.string().describe('Id of the user who asked first.'),
  count: z.int().describe('Number of authorization requests.'),
  status: z.enum(['waiting', 'approved', 'denied']),
  first_at: z.iso.datetime(),
  last_at: z.iso.datetime().describe('Time of the last request while it waited.'),
})

const members = z.record(z.string(), z.unknown())
export const refreshedDocument = z.strictObject({
  dry_run: z.boolean(),
  changed: z.array(z.string()).describe('Names of the members that differ.'),
})
export const fetchedDocument = z.strictObject({ document: members.optional(), problem: z.string().optional() })

export const approval = z.strictObject({
  id: z.string(),
  client_id: z.string(),
  user_id: z
    .string()
    .optional()
    .describe('The user who is asked. Absent if the client named no person who could decide.'),
  binding_message: z.string().optional().describe('Message of the client to the user.'),
  resource: z.string().optional().describe('URI of the resource.'),
  scope: z.string(),
  authorization_details: details.optional().describe('What the client asks for beside the scope (RFC 9396).'),
  status: z.enum(APPROVAL_STATES),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime(),
})
