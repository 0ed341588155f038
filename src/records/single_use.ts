/** What may be used once only, until it would be refused for its age. */
export interface SingleUse {
  id: string
  kind: 'dpop' | 'assertion' | 'oidc_state'
  /** base64url of 16 bytes. */
  hash: string
  expires_at: number
}
