// The OpenID provider (oauth.openid): its scopes, and what tokens say about the sign-in and the user.
import { issuerOf } from '../config/issuer.ts'
import type { Config } from '../config/schema.ts'
import type { App } from '../context.ts'
import type { Client } from '../records/client.ts'
import { USERINFO_CONSENT } from '../records/consent.ts'
import type { Issuance } from '../records/issuance.ts'
import type { IdTokenAlg } from '../records/rare_members.ts'
import type { TokenAudience } from '../records/resource.ts'
import type { Proven, RequestedSignIn, SignIn } from '../records/sign_in.ts'
import { type Person, PROFILE_MEMBERS, type Profile, profileOf } from '../records/user.ts'

/** The scopes of OpenID Connect (Core §5.4, §11). Many clients add them to every request, even if the server does not offer them. */
export const OPENID_SCOPES = ['openid', 'profile', 'email', 'offline_access', 'groups'] as const
export type OpenIdScope = (typeof OPENID_SCOPES)[number]

export const isOpenIdScope = (name: string): name is OpenIdScope => OPENID_SCOPES.some((known) => known === name)

/**
 * The OpenID scopes among the names that a request asks for. `profile`, `email` and `groups` mean nothing without `openid`. Empty when the
 * server is not an OpenID provider.
 */
export const offeredOpenId = ({ oauth }: Pick<Config, 'oauth'>, names: readonly string[]): string[] => {
  if (!oauth.openid) return []
  const isSignIn = names.includes('openid')
  return names.filter((name) => (isSignIn ? isOpenIdScope(name) : name === 'offline_access'))
}

/** Whether granted scopes ask for an ID token. */
export const isSignIn = (scope: readonly string[]): boolean => scope.includes('openid')

/** The algorithm of the ID tokens and logout tokens of a client. */
export const idTokenAlg = (
  { oauth }: Pick<Config, 'oauth'>,
  { id_token_signed_response_alg: alg }: Pick<Client, 'id_token_signed_response_alg'>,
): IdTokenAlg => alg ?? oauth.id_token_alg

/** The audience of tokens for the userinfo endpoint. */
const userinfoAudience = (config: Pick<Config, 'server'>): TokenAudience => ({
  uri: issuerOf(config),
  slug: USERINFO_CONSENT,
})

/** The claims about a user that their scopes grant. */
export interface UserClaims extends Profile {
  name?: string
  /** Epoch seconds. */
  updated_at?: number
  groups?: readonly string[]
  email?: string
  email_verified?: boolean
}

/** The claims of ID tokens and of the userinfo endpoint. */
export const CLAIMS_SUPPORTED = [
  'iss',
  'sub',
  'aud',
  'exp',
  'iat',
  'auth_time',
  'nonce',
  'at_hash',
  'acr',
  'amr',
  'sid',
  'name',
  ...PROFILE_MEMBERS,
  'updated_at',
  'groups',
  'email',
  'email_verified',
]
export const PROMPTS = ['none', 'login', 'consent', 'select_account'] as const

/** The claims about a person that some scopes grant (OpenID Connect Core §5.4). */
export function userClaims(person: Person | undefined, scope: readonly string[]): UserClaims {
  if (!person) return {}
  const { name, updated_at, groups, email, email_verified } = person
  return {
    ...(scope.includes('profile') ? { ...(name ? { name } : {}), ...profileOf(person), updated_at } : {}),
    ...(scope.includes('groups') ? { groups } : {}),
    ...(email && scope.includes('email') ? { email, email_verified } : {}),
  }
}

/** What the tokens of a grant say about the sign-in of the user. */
export interface Identity extends SignIn {
  /** The claims of the ID token beside those of every ID token; undefined when there is none. */
  id_token?: UserClaims & { nonce?: string }
}

interface Granted {
  scope: string
  /** Whether the access token is for a resource, so that it gives no access to userinfo. */
  has_resource: boolean
  sub: string
  user_version?: number
}

/** What a sign-in adds to a grant. */
interface SignedInGrant {
  identity?: Identity
  /** The audience of a token that is for no resource. */
  audience?: TokenAudience
}
/** What the tokens of a code or refresh token say about the sign-in. */
export async function identityOf(
  app: App,
  sign_in: RequestedSignIn,
  { scope, sub, user_version: version, has_resource }: Granted,
): Promise<SignedInGrant> {
  const { nonce, required: _, ...identity } = sign_in
  if (!app.config.oauth.openid) return { identity: provenBy(identity) }
  const names = scope.split(' ')
  if (!isSignIn(names)) return { identity }
  // The email is at the userinfo endpoint, unless the client has no token for it (OpenID Connect Core §5.4).
  const hasEmail = has_resource || app.config.oauth.id_token_claims === 'all'
  const about = names.filter((name) => name === 'profile' || name === 'groups' || (name === 'email' && hasEmail))
  const isAboutUser = about.length > 0 && version !== undefined
  const person = isAboutUser ? await app.store.findPerson({ id: sub, version }) : undefined
  const id_token = { ...(nonce === undefined ? {} : { nonce }), ...userClaims(person, about) }
  return { identity: { ...identity, id_token }, audience: userinfoAudience(app.config) }
}

/** The claims of an access token about the sign-in (RFC 9470 §6.1, RFC 9068 §2.2.1). */
export const signInClaims = ({ auth_time, acr, amr }: SignIn): Pick<SignIn, 'auth_time' | 'acr' | 'amr'> => ({
  ...(auth_time === undefined ? {} : { auth_time }),
  ...(acr === undefined ? {} : { acr }),
  ...(amr === undefined ? {} : { amr }),
})

/** The same of a token that another one is exchanged for, and of an assertion. Undefined when nothing is said. */
export const provenBy = ({ acr, amr }: Proven = {}): Identity | undefined =>
  acr === undefined && amr === undefined ? undefined : signInClaims({ acr, amr })

/** The claims of an ID token (OpenID Connect Core §2), without `at_hash`. It has no `jti`, which every access token has. */
export function idTokenClaims(issuer: string, { client_id, sub, issued_at, expires_at }: Issuance, identity: Identity) {
  const { id_token, ...sign_in } = identity
  return { iss: issuer, sub, aud: client_id, exp: expires_at, iat: issued_at, ...sign_in, ...id_token }
}
