// Schema of the answers about clients that wait for approval.
import { z } from 'zod'

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
