// The local account of a user who signed in at the upstream provider. It is identified by issuer and subject, never by email.
import type { OidcSettings } from '../../config/oidc_keys.ts'
import { scimRules } from '../../config/scim_rules.ts'
import type { App, OidcIdentity } from '../../context.ts'
import { asciiDomain, domainOf, EMAIL_ADDRESS } from '../../lib/email.ts'
import { OAuthError } from '../../lib/error.ts'
import { groupName, MAX_GROUPS } from '../../lib/field.ts'
import type { AuditEvent } from '../../records/audit_event.ts'
import { PROFILE_MEMBERS, type Profile, profileOf, type User } from '../../records/user.ts'
import type { ScimSignIn } from '../../store/people/federated_sign_in.ts'
import { newUserId } from '../clients/client_metadata.ts'
import { type IdTokenClaims, refused } from './id_token.ts'

const MAX_EMAIL = 254
const MAX_NAME = 255

/** The account, created at the first sign-in. `changed` is recorded if its email has changed. Throws 401 when it is disabled, 409 when its email belongs to another account. */
export async function resolveFederatedUser(
  app: App,
  identity: OidcIdentity,
  { slug, settings }: OidcSettings,
  changed: AuditEvent,
): Promise<{ user: User; created: boolean }> {
  const now = app.clock.now()
  const email = emailOf(identity.claims)
  const user: User = {
    id: newUserId(),
    email,
    email_verified: email !== undefined && isVerified(identity.claims),
    name: nameOf(identity.claims),
    ...profileFrom(identity.claims),
    role: 'user',
    status: 'active',
    provider: 'oidc',
    provider_issuer: identity.issuer,
    provider_sub: identity.sub,
    operator_groups: [],
    provider_groups: providerGroups(identity.claims[settings.groups_claim]),
    version: 1,
    created_at: now,
    updated_at: now,
  }
  const found = await app.store.recorded(
    'saveFederatedUser',
    { user, scim: scimSignIn(app, { slug, settings }, identity) },
    changed,
  )
  if (found === 'email_taken')
    throw new OAuthError('conflict', 'another account has your email address; please ask an administrator', {
      reason: 'oidc_email_taken',
      about: aboutOf(identity, email && (await app.store.findUserByEmail({ email }))?.id),
    })
  if (found.user.status !== 'active') throw refused('user_disabled', aboutOf(identity, found.user.id))
  return { user: found.user, created: found.created }
}

/** How SCIM finds the person of a sign-in. */
function scimSignIn({ config }: App, provider: OidcSettings, { claims }: OidcIdentity): ScimSignIn | undefined {
  if (!config.scim.enabled) return undefined
  const { match, subject_claim } = scimRules(config, provider)
  // Without the claim no person is found: external ids are not empty.
  const claim = subject_claim === 'sub' ? undefined : (textOf(claims[subject_claim], MAX_NAME) ?? '')
  return { provider: provider.slug, match, ...(claim === undefined ? {} : { claim }) }
}

/** Throws access_denied when the provider is limited to email domains and the verified email of the user is in none of them. */
export function checkEmailDomain({ allowed_email_domains }: OidcSettings['settings'], identity: OidcIdentity): void {
  if (allowed_email_domains.length === 0) return
  const { claims } = identity
  const email = isVerified(claims) ? emailOf(claims) : undefined
  const domain = email && asciiDomain(domainOf(email))
  if (domain !== undefined && allowed_email_domains.some((each) => asciiDomain(each) === domain)) return
  throw new OAuthError('access_denied', 'you may not sign in here with your email address', {
    reason: 'oidc_email_domain',
    about: {
      ...aboutOf(identity, undefined),
      expected: allowed_email_domains.join(' '),
      found: domain ?? 'no verified email',
    },
  })
}

/** The identity at the provider, and the local account that it belongs to. */
function aboutOf({ sub, claims }: OidcIdentity, user_id: string | undefined): Record<string, string> {
  const email = textOf(claims['email'], MAX_EMAIL)
  return { federated_subject: sub, ...(email ? { email } : {}), ...(user_id ? { user_id } : {}) }
}

const textOf = (value: unknown, max: number): string | undefined =>
  typeof value === 'string' && value !== '' && value.length <= max && !/\p{C}/u.test(value) ? value : undefined

/** The email, unless the provider marks it as unverified. Some providers send the flag as text, others omit it. */
function emailOf({ email, email_verified }: IdTokenClaims): string | undefined {
  if (email_verified === false || email_verified === 'false') return undefined
  const text = textOf(email, MAX_EMAIL)
  return text && EMAIL_ADDRESS.test(text) ? text : undefined
}

const nameOf = ({ name, preferred_username }: IdTokenClaims): string =>
  textOf(name, MAX_NAME) ?? textOf(preferred_username, MAX_NAME) ?? ''

/** The further claims of the scope profile that the provider sends. */
const profileFrom = (claims: IdTokenClaims): Profile =>
  profileOf(Object.fromEntries(PROFILE_MEMBERS.map((member) => [member, textOf(claims[member], MAX_NAME)])))

/** Whether the provider vouches for the email. A provider that says nothing does not. */
const isVerified = ({ email_verified }: IdTokenClaims): boolean => email_verified === true || email_verified === 'true'

const GROUP_NAME = groupName()
/**
 * The groups in a claim: a list of names or one name. Values that are not names are ignored, and so are names beyond the limit. Fewer
 * groups never give more access.
 */
function providerGroups(claim: unknown): string[] {
  const names = (Array.isArray(claim) ? claim : [claim]).filter((each) => GROUP_NAME.safeParse(each).success)
  return [...new Set<string>(names)].sort().slice(0, MAX_GROUPS)
}
