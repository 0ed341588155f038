// People who may use the admin page: their capability follows from the groups that the upstream provider says.
import { callbackPath } from '../config/oidc_keys.ts'
import type { App, OidcProvider } from '../context.ts'
import { CAPABILITIES, type Capability } from '../records/api_key.ts'
import type { User } from '../records/user.ts'

type Parts = Pick<App, 'config' | 'oidc'>

/** The providers that people sign in to the admin page at; none while that is off. */
export const adminProviders = ({ config: { admin }, oidc }: Parts): OidcProvider[] =>
  admin.sign_in.enabled ? oidc.filter(({ slug }) => admin.sign_in.providers.includes(slug)) : []

/**
 * The highest capability that the groups of a person give; undefined for none. Only groups that one of these providers said count:
 * operators may change the other groups, and could give themselves a capability.
 */
export function capabilityOfPerson(parts: Parts, { provider_issuer, provider_groups }: User): Capability | undefined {
  if (!adminProviders(parts).some(({ settings }) => settings.issuer === provider_issuer)) return undefined
  const { groups } = parts.config.admin.sign_in
  return CAPABILITIES.findLast((each) => groups[each].some((name) => provider_groups.includes(name)))
}

/** The holder of admin.api_key, or a command on this machine. */
export const ADMIN = 'admin'
/** How the audit trail names the holder of a key with a name, or a person. */
export const adminActor = (name: string): string => `${ADMIN}:${name}`
/** A person has the email that the provider vouches for, or the id of the account. */
export const actorOfPerson = ({ id, email, email_verified }: User): string =>
  adminActor(email_verified && email ? email : id)

/** Where people start the sign-in, and where the provider returns the browser to. */
export const SIGN_IN_PATH = '/admin/ui/sign-in'
export const startUrl = (parts: Parts, slug: string): string => stepUrl(parts, 'start', slug)
export const callbackUrl = (parts: Parts, slug: string): string => stepUrl(parts, 'callback', slug)

/** The URL of a step. Like the callbacks of users, that of the provider `default` has no slug. */
const stepUrl = ({ config }: Parts, step: 'start' | 'callback', slug: string): string =>
  `${new URL(config.admin.sign_in.url).origin}${SIGN_IN_PATH}/${step}${callbackPath(slug).slice('/oidc/callback'.length)}`
