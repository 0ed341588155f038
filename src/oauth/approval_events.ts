// The actions of approvals (CIBA) in the audit trail.

const approval = ['approval_id', 'user_id', 'resource', 'scope'] as const

/** By name. */
export const APPROVAL_EVENTS = {
  approval_denied: { doc: 'The person who was asked, or an operator, denied an approval (CIBA).', detail: approval },
  approval_expired: { doc: 'An approval expired, because the person did not decide in time (CIBA).', detail: approval },
  approval_granted: { doc: 'The person who was asked allowed an approval (CIBA), or a part of it.', detail: approval },
  approval_requested: {
    doc: 'A client asked a person for an approval (CIBA). `link` leads to the page where the person decides. `user_id` is absent if the client named no person who could.',
    detail: [...approval, 'link'],
  },
} as const
