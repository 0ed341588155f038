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

export interface Resource {
  id: string
  slug: string
  /** The audience; compared byte by byte. */
  uri?: string
  backend_kind: 'mint' | 'broker'
  broker_provider_slug?: string
  display_name: string
  scopes: ResourceScope[]
  policy: ResourcePolicy
  version: number
  created_at: number
  updated_at: number
}
