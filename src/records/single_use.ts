/** The use of a single-use value. It is remembered until the value would be refused as expired. */
export interface SingleUse {
  id: string
  kind: 'dpop' | 'assertion' | 'client_assertion' | 'oidc_state' | 'logout_token'
  /** base64url of 16 bytes. */
  hash: string
  expires_at: number
}
