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
  issuer: urlKey({ doc: 'Issuer of the provider; https in production.' }),
  client_id: textKey({ doc: 'Client id of this service at the provider.' }),
  client_secret: secretKey({ doc: 'Client secret of this service at the provider.' }),
  redirect_uri: urlKey({
    doc: 'Callback of this service: <issuer>/oidc/callback, and <issuer>/oidc/callback/<slug> for a provider of oidc.providers. https in production.',
  }),
  display_name: textKey({ doc: 'Text of the login button.' }),
  scopes: listKey({ default: ['openid', 'email', 'profile'], doc: 'Scopes to request.' }),
  include_groups_scope: boolKey({ default: true, doc: 'Request the scope groups if the provider offers it.' }),
  groups_claim: textKey({
    default: 'groups',
    doc: 'Claim of the ID token, or of userinfo, with the groups of the user. Each sign-in replaces the groups of the previous one.',
  }),
  connector_id: textKey({ doc: 'Connector of a Dex provider.' }),
  allow_private_addresses: boolKey({
    default: false,
    doc: 'Allow private addresses for the provider and for the URLs in its metadata.',
  }),
  allowed_email_domains: listKey({
    doc: 'Only users whose verified email address is in one of these domains may sign in. A domain must match exactly; upper and lower case are the same, and so are both forms of an internationalised domain. Empty: no limit.',
  }),
  mfa_values: listKey({
    default: ['mfa', 'phr', 'phrh'],
    doc: 'Values of acr, or in amr, with which the provider says that a user signed in with two factors. Only such a sign-in satisfies a resource with second_factor, and acr_values=mfa.',
  }),
  logout_ends_grants: boolKey({
    default: false,
    doc: 'Let a back-channel logout of the provider end the refresh tokens and the upstream connections of the user too, not only the sessions.',
  }),
} as const

export const oidcKeys = {
  enabled: boolKey({ default: false, doc: 'Let users sign in at an upstream OpenID provider.' }),
  ...provider,
  allow_hosts: hostsKey({
    doc: `Hosts in private networks that requests to any provider may reach. ${HOSTS_FORM}`,
  }),
  show_local_login: boolKey({ default: true, doc: 'Also offer the password form.' }),
  providers: keyedRecordsKey(
    {
      slug: slugKey({
        doc: 'Name of the provider, in /oidc/callback/<slug> and in the audit trail. Unique, and not default.',
      }),
      enabled: boolKey({ default: true, doc: 'Let users sign in at this provider.' }),
      ...provider,
      scim_match: wordKey({
        of: ['inherit', ...SCIM_MATCHES],
        default: 'inherit',
        doc: 'scim.match for this provider. inherit: the value of scim.match.',
      }),
      scim_subject_claim: textKey({
        doc: 'scim.subject_claim for this provider. Empty: the value of scim.subject_claim.',
      }),
    },
    {
      id: 'slug',
      reserved: [DEFAULT_PROVIDER],
      doc: 'More providers to sign in at, in addition to the provider of the keys above, which has the slug default. Each has a slug, enabled (true by default) and the members of oidc.*. A variable SERVICE_OIDC_PROVIDERS_<SLUG>_<MEMBER> sets one member.',
    },
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
