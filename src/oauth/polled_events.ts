// The actions of what clients poll for in the audit trail: approvals (CIBA) and devices (RFC 8628).

const approval = ['approval_id', 'user_id', 'resource', 'scope'] as const

/** By name. */
export const POLLED_EVENTS = {
  approval_denied: { doc: 'The person who was asked, or an operator, denied an approval (CIBA).', detail: approval },
  approval_expired: { doc: 'An approval expired, because the person did not decide in time (CIBA).', detail: approval },
  approval_granted: { doc: 'The person who was asked allowed an approval (CIBA), or a part of it.', detail: approval },
  approval_requested: {
    doc: 'A client asked a person for an approval (CIBA). `link` leads to the page where the person decides. `user_id` is absent if the client named no person who could.',
    detail: [...approval, 'link'],
  },
  ciba_denied: {
    doc: 'A request for an approval (CIBA), or an auth_req_id, of an authenticated client was refused.',
    detail: ['reason'],
  },
  user_code_rejected: {
    doc: 'A signed-in user entered a user code that no device waits for. Many of these events of one user are an attempt to guess codes.',
    detail: [],
  },
  device_code_denied: { doc: 'A device code of an authenticated client was refused.', detail: ['reason'] },
} as const
