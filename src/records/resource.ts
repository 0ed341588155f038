export interface ResourceScope {
  name: string
  description: string
  upstream: string
}

export interface ResourcePolicy {
  exchange: { allowed_client_ids: string[] }
  runtime: { client_ids: string[] }
  connect: { allowed_return_urls: string[] }
}

export const ACCESS_TOKEN_TYPS = ['at+jwt', 'JWT'] as const
/** The `typ` of an access token: RFC 9068, or what decoders accept that know nothing else. */
export type AccessTokenTyp = (typeof ACCESS_TOKEN_TYPS)[number]

export interface Resource {
  id: string
  slug: string
  /** The audience; compared byte by byte. */
  uri?: string
  backend_kind: 'mint' | 'broker'
  broker_provider_slug?: string
  display_name: string
  scopes: ResourceScope[]
  /** at+jwt where it is undefined. */
  access_token_typ?: AccessTokenTyp
  policy: ResourcePolicy
  version: number
  created_at: number
  updated_at: number
}
