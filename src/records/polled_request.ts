import type { AuthorizationDetail } from './authorization_details.ts'

/** A request whose client polls until a person decides about it: that of a device (RFC 8628), or for an approval (CIBA). Its id is also the id of the authorization request of the person. */
export interface PolledRequest {
  id: string
  /** SHA-256 of the device code. */
  hash: string
  /** MAC of the user code. */
  user_code_hash: string
  /** The client, which may be one with a metadata document that is not stored yet: anonymous callers can send this request, so that it has no copy of the document. */
  client_id: string
  scope: string
  /** What the device asked for: its scope parameter, or what was assumed without one. */
  asked_scope: string
  resource?: string
  /** What it asks for beside the scope (RFC 9396). */
  authorization_details?: AuthorizationDetail[]
  dpop_jkt?: string
  /** Address and User-Agent of the device, which are shown to the user. */
  ip: string
  user_agent?: string
  /** Seconds that the device must wait between two polls. */
  wait: number
  decision?: 'approved' | 'denied'
  created_at: number
  expires_at: number
}
