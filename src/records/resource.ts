import type { DetailsType } from './authorization_details.ts'

export interface ResourceScope {
  name: string
  description: string
  /** The description in further languages, by language tag; undefined when there are none. */
  descriptions?: Readonly<Record<string, string>>
  upstream: string
  /** Groups whose members get the scope; undefined for everyone who may use the resource. Never empty. */
  groups?: string[]
}

export const ACCESS_MODES = ['everyone', 'restricted'] as const
/** Who may use a resource. When restricted, a user needs to be on one of the lists. */
export interface ResourceAccess {
  mode: (typeof ACCESS_MODES)[number]
  groups: string[]
  /** Ids of users. */
  users: string[]
  /** Domains of verified emails, in lower case. */
  email_domains: string[]
  /** Whether users need a sign-in with two factors. */
  second_factor?: boolean
}
export const EVERYONE: ResourceAccess = { mode: 'everyone', groups: [], users: [], email_domains: [] }

export const TOKEN_CLAIMS = ['groups', 'email', 'email_verified', 'name'] as const
/** A claim about the user that the tokens of a resource may contain. */
export type TokenClaim = (typeof TOKEN_CLAIMS)[number]

export interface ResourcePolicy {
  exchange: { allowed_client_ids: string[] }
  runtime: { client_ids: string[] }
  connect: { allowed_return_urls: string[] }
}

export const ACCESS_TOKEN_TYPS = ['at+jwt', 'JWT'] as const
/** The `typ` of an access token: at+jwt (RFC 9068), or JWT for decoders that accept no other type. */
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
  access: ResourceAccess
  token_claims: TokenClaim[]
  /** The types of authorization details (RFC 9396) that requests may name. */
  authorization_details_types: DetailsType[]
  version: number
  created_at: number
  updated_at: number
}

/** What a token needs of the resource it is issued for. */
export type TokenAudience = Pick<Resource, 'uri' | 'slug' | 'access_token_typ'>
