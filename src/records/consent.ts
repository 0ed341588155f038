/** What a consent names in place of a resource, when the user only signs in. No resource has this id. */
export const USERINFO_CONSENT = 'openid'

/** The consent of a user for a client at a resource. */
export interface Consent {
  id: string
  user_id: string
  client_id: string
  resource_id: string
  scope: string
  /** The redirect hosts that were shown to the user, each with the scope that was allowed for it. */
  redirect_hosts: Record<string, string>
  created_at: number
  updated_at: number
  revoked_at?: number
}
