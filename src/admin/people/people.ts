// Users as operations find them, and people who may use the admin page: their capability follows from the groups that the upstream provider says.
import { callbackPath } from '../../config/oidc_keys.ts'
import type { App, OidcProvider } from '../../context.ts'
import { isLocalAdmin } from '../../oauth/tokens/admin_resource.ts'
import type { AdminIdentity } from '../../records/admin_session.ts'
import { CAPABILITIES, type Capability } from '../../records/api_key.ts'
import type { User } from '../../records/user.ts'
import { badInput, existing } from '../outcome.ts'

type Parts = Pick<App, 'config' | 'oidc'>

/** The providers that people sign in to the admin page at; none while that is off. */
export const adminProviders = ({ config: { admin }, oidc }: Parts): OidcProvider[] =>
  admin.sign_in.enabled ? oidc.filter(({ slug }) => admin.sign_in.providers.includes(slug)) : []

/** The identity of a local admin. No provider has its names. */
export const localIdentityOf = ({ id, email, email_verified }: User): AdminIdentity => ({
  provider: '',
  issuer: '',
  subject: id,
  groups: [],
  actor_id: adminActor(email_verified && email ? email : id),
})

/**
 * The capability of a person; undefined for none. It follows from the groups that the provider said at the sign-in to the admin page, and at
 * the last sign-in of the account: the lower of both counts. A provider of the same issuer that is not in admin.sign_in.providers can
 * write the row of the account, and an operator can change other members of it. Neither can raise a session.
 */
export function capabilityOfPerson(
  parts: Parts,
  { provider, issuer, subject, groups }: AdminIdentity,
  user: User,
): Capability | undefined {
  const { provider_issuer, provider_sub, provider_groups } = user
  if (issuer === '') return subject === user.id && isLocalAdmin(parts, user) ? 'admin' : undefined
  const isTrusted = adminProviders(parts).some(({ slug, settings }) => slug === provider && settings.issuer === issuer)
  if (!isTrusted || provider_issuer !== issuer || provider_sub !== subject) return undefined
  const ranks = [groups, provider_groups].map((names) => rankOf(parts, names))
  return CAPABILITIES[Math.min(...ranks)]
}

/**
 * Who a person is in the admin API by an access token: the actor, and the capability by the groups that the provider said at the last sign-in of
 * the account; undefined for none. A local admin needs a token of a sign-in with a passkey, which `acr` says. Every provider of the same issuer must be trusted, because each of them can write these groups.
 */
export function operatorByToken(
  parts: Parts,
  user: User,
  acr: string | undefined,
): { actor_id: string; capability: Capability } | undefined {
  if (acr === 'phr' && isLocalAdmin(parts, user))
    return { actor_id: localIdentityOf(user).actor_id, capability: 'admin' }
  const ofIssuer = parts.oidc.filter(({ settings }) => settings.issuer === user.provider_issuer)
  const trusted = adminProviders(parts)
  const [provider] = ofIssuer
  if (!provider || user.status !== 'active' || !ofIssuer.every((each) => trusted.includes(each))) return undefined
  const identity = adminIdentityOf(provider, user)
  const capability = capabilityOfPerson(parts, identity, user)
  return capability && { actor_id: identity.actor_id, capability }
}

/** The position of the highest capability that some groups give; -1 for none. */
const rankOf = ({ config }: Parts, names: readonly string[]): number =>
  CAPABILITIES.findLastIndex((each) => config.admin.sign_in.groups[each].some((name) => names.includes(name)))

/** The holder of admin.api_key, or a command on this machine. */
export const ADMIN = 'admin'
/** How the audit trail names the holder of a key with a name, or a person. */
export const adminActor = (name: string): string => `${ADMIN}:${name}`
/** What a session of the admin page records of a person. In the audit trail a person has the email that the provider vouches for, or the id of the account. */
export const adminIdentityOf = (
  { slug, settings }: OidcProvider,
  { id, email, email_verified, provider_sub = '', provider_groups }: User,
): AdminIdentity => ({
  provider: slug,
  issuer: settings.issuer,
  subject: provider_sub,
  groups: provider_groups,
  actor_id: adminActor(email_verified && email ? email : id),
})

/** The path of the admin page. */
export const PAGE_PATH = '/admin/ui/'
/** Where people start the sign-in, and where the provider returns the browser to. */
export const SIGN_IN_PATH = '/admin/ui/sign-in'
export const startUrl = (parts: Parts, slug: string): string => stepUrl(parts, 'start', slug)
export const callbackUrl = (parts: Parts, slug: string): string => stepUrl(parts, 'callback', slug)

/** The URL of a step. Like the callbacks of users, that of the provider `default` has no slug. */
const stepUrl = ({ config }: Parts, step: 'start' | 'callback', slug: string): string =>
  `${new URL(config.admin.sign_in.url).origin}${SIGN_IN_PATH}/${step}${callbackPath(slug).slice('/oidc/callback'.length)}`

/** The user with an id. Throws not_found. */
export const getUser = ({ store }: Pick<App, 'store'>, id: string) => existing('user', store.findUser({ id }))

/** The enabled provider with a slug. Throws invalid_request. */
export function givenProvider(oidc: App['oidc'], slug: string): App['oidc'][number] {
  const provider = oidc.find((each) => each.slug === slug)
  if (provider) return provider
  throw badInput([`provider must be one of ${oidc.map((each) => each.slug).join(', ') || 'oidc.*, which has none'}`])
}
