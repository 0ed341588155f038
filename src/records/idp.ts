/** An identity provider whose ID-JAG assertions are accepted. */
export interface Idp {
  id: string
  name: string
  /** The `iss` of its assertions; compared byte by byte. */
  issuer: string
  /** The required `aud` of its assertions. */
  audience: string
  jwks_uri: string
  enabled: boolean
  version: number
  created_at: number
  updated_at: number
}
