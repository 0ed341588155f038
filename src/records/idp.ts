/** An identity provider whose ID-JAG assertions are accepted, and with `subject_tokens` its access tokens and ID tokens as subject tokens. */
export interface Idp {
  id: string
  name: string
  /** The `iss` of its assertions; compared byte by byte. */
  issuer: string
  /** The required `aud` of its assertions. */
  audience: string
  jwks_uri: string
  enabled: boolean
  /** Whether its access tokens and ID tokens are accepted as subject tokens of a token exchange. */
  subject_tokens: boolean
  /** One of these must be in the `aud` of a subject token. */
  audiences: string[]
  version: number
  created_at: number
  updated_at: number
}
