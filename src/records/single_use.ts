/** The use of a single-use value. It is remembered until the value would be refused as expired. */
export interface SingleUse {
  id: string
  kind: 'dpop' | 'assertion' | 'client_assertion' | 'oidc_state' | 'logout_token' | 'passkey' | 'admin_code'
  /** base64url of 16 bytes. */
  hash: string
  expires_at: number
}

/** Begins the code of the error that a value was used before; the kind of the use follows. A code also reaches callers in another thread. */
export const USED_BEFORE = 'USED_BEFORE '
