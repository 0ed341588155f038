// Admin operations on clients that wait for approval (clients.approval).
import { z } from 'zod'
import type { App } from '../../context.ts'
import { word } from '../../lib/field.ts'
import { isId } from '../../lib/id.ts'
import { dated } from '../../lib/time.ts'
import { type AdminResource, action, type Recorder } from '../action.ts'
import * as answers from '../answers/client_answers.ts'
import { paging } from '../lists.ts'
import { existing } from '../outcome.ts'

async function decide(app: App, id: string, status: 'approved' | 'denied', by: Recorder) {
  const request = await existing('client request', isId(id) ? app.store.readClientRequest({ id }) : undefined)
  const { client_id, client_name } = request
  await by.record('decideClientRequest', { id, status }, { client_id, detail: { client_name } })
  return { shown: dated({ ...request, status }) }
}

export const clientRequests: AdminResource = {
  name: 'client-request',
  doc: 'Clients that asked to be used, and what operators decided (`clients.approval`).',
  item: 'request',
  columns: ['id', 'client_name', 'client_id', 'status', 'count', 'last_at'],
  actions: {
    list: action('GET /admin/client-requests', {
      doc: 'Lists the clients that wait for approval, and those that were approved or denied, newest first.',
      answer: z.array(answers.clientRequest),
      query: z.strictObject({
        status: word(['waiting', 'approved', 'denied']).optional().describe('Only requests with this status.'),
        ...paging(1000, 100),
      }),
      run: async ({ store }, { query }) => ({ shown: (await store.listClientRequests(query)).map(dated) }),
    }),
    approve: action('POST /admin/client-requests/{id}/approve', {
      doc: 'Approves a client. Its users start again at the application.',
      answer: answers.clientRequest,
      audit: 'client_approved',
      run: (app, { params: { id } }, by) => decide(app, id, 'approved', by),
    }),
    deny: action('POST /admin/client-requests/{id}/deny', {
      doc: 'Denies a client. It is refused at once from then on, also at the token endpoint. Tokens that it has stay valid: revoke them.',
      answer: answers.clientRequest,
      audit: 'client_denied',
      run: (app, { params: { id } }, by) => decide(app, id, 'denied', by),
    }),
  },
}
