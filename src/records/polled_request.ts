import type { AuthorizationDetail } from './authorization_details.ts'

/** A request whose client polls until a person decides about it: that of a device (RFC 8628), or for an approval (CIBA). Its id is also the id of the authorization request of the person. */
export interface PolledRequest {
  id: string
  /** SHA-256 of the device code or auth_req_id. */
  hash: string
  /** MAC of the user code. An approval has none: here it has its own hash. */
  user_code_hash: string
  /** The client of a device may be one with a metadata document that is not stored yet: anonymous callers can send this request, so that it has no copy of the document. */
  client_id: string
  scope: string
  /** What the client asked for: its scope parameter, or what was assumed without one. */
  asked_scope: string
  resource?: string
  /** What it asks for beside the scope (RFC 9396). */
  authorization_details?: AuthorizationDetail[]
  dpop_jkt?: string
  /** Address and User-Agent of the client. Those of a device are shown to the user. */
  ip: string
  user_agent?: string
  /** Seconds that the client must wait between two polls. */
  wait: number
  /** Set if it is for an approval. */
  approval?: ApprovalRequest
  /** `expired`: its end is in the audit trail. Only approvals have it. */
  decision?: 'approved' | 'denied' | 'expired'
  created_at: number
  expires_at: number
}

/** What only a request for an approval has (CIBA). */
export interface ApprovalRequest {
  /** The person who may decide. Absent: the hint names no person who could. */
  user_id?: string
  /** MAC of the person, or of the hint: requests to the same one are counted together. */
  person: string
  binding_message?: string
  /** Authentication context classes of which the person must reach one, separated by spaces. */
  acr_values?: string
  /** The client_notification_token, encrypted with the auth_req_id. */
  notification?: string
}

/** The states of an approval, as operators see them. */
export const APPROVAL_STATES = ['pending', 'granted', 'denied', 'expired'] as const
export type ApprovalState = (typeof APPROVAL_STATES)[number]
