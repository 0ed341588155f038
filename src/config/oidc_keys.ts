// Keys of the sign-in at upstream OpenID providers: those of the provider `default`, and the records of further ones.
import { SCIM_MATCHES } from '../records/scim.ts'
import {
  boolKey,
  HOSTS_FORM,
  hostsKey,
  type Infer,
  keyedRecordsKey,
  listKey,
  secretKey,
  slugKey,
  textKey,
  urlKey,
  wordKey,
} from './key.ts'

/** The slug of the provider of the keys `oidc.*`. */
export const DEFAULT_PROVIDER = 'default'

/** The members of every provider. */
const provider = {
  issuer: urlKey().describe('Issuer of the provider; https in production.'),
  client_id: textKey().describe('Client id of this service at the provider.'),
  client_secret: secretKey().describe('Client secret of this service at the provider.'),
  redirect_uri: urlKey().describe(
    'Callback of this service: <issuer>/oidc/callback, and <issuer>/oidc/callback/<slug> for a provider of oidc.providers. https in production.',
  ),
  display_name: textKey().describe('Text of the login button.'),
  scopes: listKey({ default: ['openid', 'email', 'profile'] }).describe('Scopes to request.'),
  include_groups_scope: boolKey({ default: true }).describe('Request the scope groups if the provider offers it.'),
  groups_claim: textKey({ default: 'groups' }).describe(
    'Claim of the ID token, or of userinfo, with the groups of the user. Each sign-in replaces the groups of the previous one.',
  ),
  connector_id: textKey().describe('Connector of a Dex provider.'),
  allow_private_addresses: boolKey({ default: false }).describe(
    'Allow private addresses for the provider and for the URLs in its metadata.',
  ),
  allowed_email_domains: listKey().describe(
    'Only users whose verified email address is in one of these domains may sign in. A domain must match exactly; upper and lower case are the same, and so are both forms of an internationalised domain. Empty: no limit.',
  ),
  mfa_values: listKey({ default: ['mfa', 'phr', 'phrh'] }).describe(
    'Values of acr, or in amr, with which the provider says that a user signed in with two factors. Only such a sign-in satisfies a resource with second_factor, and acr_values=mfa.',
  ),
  logout_ends_grants: boolKey({ default: false }).describe(
    'Let a back-channel logout of the provider end the refresh tokens and the upstream connections of the user too, not only the sessions.',
  ),
} as const

export const oidcKeys = {
  enabled: boolKey({ default: false }).describe('Let users sign in at an upstream OpenID provider.'),
  ...provider,
  allow_hosts: hostsKey().describe(`Hosts in private networks that requests to any provider may reach. ${HOSTS_FORM}`),
  show_local_login: boolKey({ default: true }).describe('Also offer the password form.'),
  providers: keyedRecordsKey(
    {
      slug: slugKey().describe(
        'Name of the provider, in /oidc/callback/<slug> and in the audit trail. Unique, and not default.',
      ),
      enabled: boolKey({ default: true }).describe('Let users sign in at this provider.'),
      ...provider,
      scim_match: wordKey({ of: ['inherit', ...SCIM_MATCHES], default: 'inherit' }).describe(
        'scim.match for this provider. inherit: the value of scim.match.',
      ),
      scim_subject_claim: textKey().describe(
        'scim.subject_claim for this provider. Empty: the value of scim.subject_claim.',
      ),
    },
    { id: 'slug', reserved: [DEFAULT_PROVIDER] },
  ).describe(
    'More providers to sign in at, in addition to the provider of the keys above, which has the slug default. Each has a slug, enabled (true by default) and the members of oidc.*. A variable SERVICE_OIDC_PROVIDERS_<SLUG>_<MEMBER> sets one member.',
  ),
} as const

type ProviderRecord = Infer<typeof oidcKeys>['providers'][number]

/** A provider that users can sign in at. */
export interface OidcSettings {
  readonly slug: string
  readonly settings: Infer<typeof provider> & Partial<Pick<ProviderRecord, 'scim_match' | 'scim_subject_claim'>>
}

/** Every provider that is enabled, in the order of the login page. */
export const oidcSettings = ({ oidc }: { oidc: Infer<typeof oidcKeys> }): OidcSettings[] => [
  ...(oidc.enabled ? [{ slug: DEFAULT_PROVIDER, settings: oidc }] : []),
  ...oidc.providers.filter(({ enabled }) => enabled).map((settings) => ({ slug: settings.slug, settings })),
]

/** The path of the callback of a provider. */
export const callbackPath = (slug: string): string =>
  slug === DEFAULT_PROVIDER ? '/oidc/callback' : `/oidc/callback/${slug}`
