// What an upstream provider says over SCIM (RFC 7643) about the people and groups that it manages.

import { type Profile, profileOf } from './user.ts'
/** How the first sign-in of a person finds the account: by externalId, or by a verified email. */
export const SCIM_MATCHES = ['external_id', 'email'] as const
export type ScimMatch = (typeof SCIM_MATCHES)[number]

export interface ScimEmail {
  value: string
  type?: string
  display?: string
  primary?: boolean
}

/** The attributes of a person that are stored as they were sent. */
export interface ScimAttributes {
  displayName?: string
  name?: Readonly<Record<string, string>>
  emails?: readonly ScimEmail[]
}

/** What a provider sends about a person. */
export interface ScimPerson extends ScimAttributes {
  userName: string
  externalId?: string
}

/** A person as stored. The account has the id, and determines `active`. */
export interface ScimUser extends ScimPerson {
  id: string
  provider: string
  active: boolean
  version: number
  created_at: number
  updated_at: number
  groups: readonly Pick<ScimGroup, 'id' | 'displayName'>[]
}

/** A group without its members. */
export interface ScimGroup {
  id: string
  provider: string
  displayName: string
  externalId?: string
  created_at: number
  updated_at: number
}

/** The provider of a SCIM key, and how its people sign in. */
export interface ScimProvider {
  slug: string
  issuer: string
  match: ScimMatch
  /** Whether externalId is the subject of the ID tokens; otherwise another claim is compared. */
  isSubject: boolean
}

/** The address of a person: the primary one, otherwise the first one. */
export const primaryEmail = ({ emails = [] }: Pick<ScimAttributes, 'emails'>): string | undefined =>
  (emails.find(({ primary }) => primary) ?? emails[0])?.value

/** The parts of the name of a person that its account has as claims. */
export const profileOfName = ({ name = {} }: Pick<ScimPerson, 'name'>): Profile =>
  profileOf({ given_name: name['givenName'], family_name: name['familyName'] })
