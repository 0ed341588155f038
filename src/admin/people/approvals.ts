// Admin operations on approvals (CIBA): what clients ask people for.
import { z } from 'zod'
import { notifyDecided } from '../../events/approval_ping.ts'
import { name, word } from '../../lib/field.ts'
import { isId } from '../../lib/id.ts'
import { dated } from '../../lib/time.ts'
import { eventOf } from '../../oauth/sign_in/approval.ts'
import { APPROVAL_STATES, type ApprovalState } from '../../records/polled_request.ts'
import type { PolledApproval } from '../../store/tokens/approvals.ts'
import { type AdminResource, action } from '../action.ts'
import { approval } from '../answers/client_answers.ts'
import { paging } from '../lists.ts'
import { conflict, notFound } from '../outcome.ts'

const stateOf = ({ decision, expires_at }: PolledApproval, now: number): ApprovalState => {
  if (decision === undefined) return expires_at > now ? 'pending' : 'expired'
  return decision === 'approved' ? 'granted' : decision
}

const shown = (polled: PolledApproval, now: number) => {
  const { id, client_id, approval, resource, scope, authorization_details, created_at, expires_at } = polled
  const { user_id, binding_message } = approval
  const asked = { id, client_id, user_id, binding_message, resource, scope, authorization_details }
  return dated({ ...asked, status: stateOf(polled, now), created_at, expires_at })
}

export const approvals: AdminResource = {
  name: 'approval',
  doc: 'Approvals that clients ask people for (CIBA), kept until a day after their end.',
  columns: ['id', 'client_id', 'user_id', 'status', 'binding_message', 'created_at'],
  actions: {
    list: action('GET /admin/approvals', {
      doc: 'Lists the approvals that clients ask for or asked for, newest first.',
      answer: z.array(approval),
      query: z.strictObject({
        status: word(APPROVAL_STATES).optional().describe('Only approvals with this status.'),
        client_id: name(2048).optional().describe('Only approvals that this client asks for.'),
        user_id: name().optional().describe('Only approvals that this user is asked for.'),
        ...paging(1000, 100),
      }),
      async run({ store, clock }, { query }) {
        const now = clock.now()
        return { shown: (await store.listApprovals({ ...query, now })).map((each) => shown(each, now)) }
      },
    }),
    deny: action('POST /admin/approvals/{id}/deny', {
      doc: 'Denies an approval in place of the person. One that is decided, or has expired, stays as it is.',
      answer: approval,
      audit: 'approval_denied',
      async run(app, { params: { id } }, by) {
        const { store, clock } = app
        const polled = isId(id) ? await store.findPolledRequest({ id }) : undefined
        if (!polled?.approval) throw notFound('approval')
        const found: PolledApproval = { ...polled, approval: polled.approval }
        const now = clock.now()
        if (!(await by.record('denyApproval', { id, now }, eventOf(found))))
          throw conflict('the approval is decided, or has expired', 'wrong_state')
        notifyDecided(app, await store.findClient({ client_id: found.client_id }), found)
        return { shown: shown({ ...found, decision: 'denied' }, now) }
      },
    }),
  },
}
