// The OpenID provider (oauth.openid): its scopes, and what tokens say about the sign-in and the user.
import { issuerOf } from '../config/issuer.ts'
import type { Config } from '../config/schema.ts'
import type { App } from '../context.ts'
import { USERINFO_CONSENT } from '../records/consent.ts'
import type { Issuance } from '../records/issuance.ts'
import type { Person } from '../records/person.ts'
import type { TokenAudience } from '../records/resource.ts'
import type { RequestedSignIn, SignIn } from '../records/sign_in.ts'

/** The scopes of OpenID Connect (Core §5.4, §11). Many clients add them to every request, even if the server does not offer them. */
export const OPENID_SCOPES = ['openid', 'profile', 'email', 'offline_access'] as const
export type OpenIdScope = (typeof OPENID_SCOPES)[number]

export const isOpenIdScope = (name: string): name is OpenIdScope => OPENID_SCOPES.some((known) => known === name)

/**
 * The OpenID scopes among the names that a request asks for. `profile` and `email` mean nothing without `openid`. Empty when the
 * server is not an OpenID provider.
 */
export const offeredOpenId = ({ oauth }: Pick<Config, 'oauth'>, names: readonly string[]): string[] => {
  if (!oauth.openid) return []
  const isSignIn = names.includes('openid')
  return names.filter((name) => (isSignIn ? isOpenIdScope(name) : name === 'offline_access'))
}

/** Whether granted scopes ask for an ID token. */
export const isSignIn = (scope: readonly string[]): boolean => scope.includes('openid')

/** The audience of tokens for the userinfo endpoint. */
const userinfoAudience = (config: Pick<Config, 'server'>): TokenAudience => ({
  uri: issuerOf(config),
  slug: USERINFO_CONSENT,
})

/** The claims about a user that their scopes grant. */
export interface UserClaims {
  name?: string
  email?: string
  email_verified?: boolean
}

/** The claims of ID tokens and of the userinfo endpoint, without `acr`. */
export const CLAIMS_SUPPORTED = [
  'iss',
  'sub',
  'aud',
  'exp',
  'iat',
  'auth_time',
  'nonce',
  'at_hash',
  'amr',
  'name',
  'email',
  'email_verified',
]
export const PROMPTS = ['none', 'login', 'consent', 'select_account'] as const

/** The claims about a person that some scopes grant (OpenID Connect Core §5.4). */
export function userClaims(person: Person | undefined, scope: readonly string[]): UserClaims {
  const { name, email, email_verified } = person ?? {}
  return {
    ...(name && scope.includes('profile') ? { name } : {}),
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
  sub: string
  user_version?: number
}

/** What a sign-in adds to a grant. */
interface SignedInGrant {
  identity?: Identity
  /** The audience of a token that is for no resource. */
  audience?: TokenAudience
}
/** What is added to a grant without a sign-in: nothing. */
export const NO_IDENTITY: SignedInGrant = {}

/** What the tokens of a code or refresh token say about the sign-in. */
export async function identityOf(
  app: App,
  sign_in: RequestedSignIn,
  { scope, sub, user_version: version }: Granted,
): Promise<SignedInGrant> {
  if (!app.config.oauth.openid) return NO_IDENTITY
  const { nonce, required: _, ...identity } = sign_in
  const names = scope.split(' ')
  if (!isSignIn(names)) return { identity }
  const isAboutUser = names.includes('profile') || names.includes('email')
  const person = isAboutUser && version !== undefined ? await app.store.findPerson({ id: sub, version }) : undefined
  const id_token = { ...(nonce === undefined ? {} : { nonce }), ...userClaims(person, names) }
  return { identity: { ...identity, id_token }, audience: userinfoAudience(app.config) }
}

/** The claims of an access token about the sign-in (RFC 9470 §6.1). */
export const signInClaims = ({ auth_time, acr }: SignIn): Pick<SignIn, 'auth_time' | 'acr'> =>
  acr === undefined ? { auth_time } : { auth_time, acr }

/** The claims of an ID token (OpenID Connect Core §2), without `at_hash`. It has no `jti`, which every access token has. */
export function idTokenClaims(issuer: string, { client_id, sub, issued_at, expires_at }: Issuance, identity: Identity) {
  const { id_token, ...sign_in } = identity
  return { iss: issuer, sub, aud: client_id, exp: expires_at, iat: issued_at, ...sign_in, ...id_token }
}
