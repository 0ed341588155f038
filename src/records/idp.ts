/** An identity provider whose ID-JAG assertions are accepted. */
export interface Idp {
  id: string
  name: string
  /** The `iss` of its assertions, byte for byte. */
  issuer: string
  /** The `aud` that they must have. */
  audience: string
  jwks_uri: string
  enabled: boolean
  version: number
  created_at: number
  updated_at: number
}
