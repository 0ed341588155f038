// The forms of providers on the admin page, with the settings of known providers.
import type { FormKind, FormRules } from './form.ts'

/** What the operator enters for a provider that has an address of its own. */
const TENANT = { name: 'tenant', label: 'Directory (tenant) ID', example: '72f988bf-86f1-41af-91ab-2d7cd011db47' }
const OKTA = { name: 'domain', label: 'Okta domain', example: 'acme.okta.com' }
const REALM = { name: 'realm', label: 'URL of the realm', example: 'https://sso.example.com/realms/acme' }

interface Preset extends Omit<FormKind, 'start'> {
  slug: string
  /** The settings beside the client. */
  config: Readonly<Record<string, unknown>>
}

/** A provider with OAuth as a kind of form. The secret is the variable with the name of the provider. */
const kindOf = ({ slug, config, ...kind }: Preset): FormKind => ({
  ...kind,
  start: {
    slug,
    display_name: kind.title,
    protocol: 'oauth',
    config_data: { client_id: '', client_secret_ref: `CONNECTOR_${slug.toUpperCase()}_SECRET`, ...config },
  },
})

const endpoints = (authorize_url: string, token_url: string, revoke_url?: string) => ({
  authorize_url,
  token_url,
  ...(revoke_url === undefined ? {} : { revoke_url }),
})

const ENTRA = 'https://login.microsoftonline.com/{tenant}'
const KEYCLOAK = '{realm}/protocol/openid-connect'
const OKTA_V1 = 'https://{domain}/oauth2/v1'

const GENERIC: FormKind = {
  title: 'Another provider',
  about: 'With OAuth, an API key or a service account.',
  start: { protocol: 'oauth' },
}

/** The form of a new broker provider. */
export const newProviderForm: FormRules = {
  question: 'Which provider?',
  kinds: {
    github: kindOf({
      title: 'GitHub',
      slug: 'github',
      link: 'https://github.com/settings/applications/new',
      config: endpoints('https://github.com/login/oauth/authorize', 'https://github.com/login/oauth/access_token'),
    }),
    google: kindOf({
      title: 'Google',
      slug: 'google',
      link: 'https://support.google.com/cloud/answer/6158849',
      config: {
        ...endpoints(
          'https://accounts.google.com/o/oauth2/v2/auth',
          'https://oauth2.googleapis.com/token',
          'https://oauth2.googleapis.com/revoke',
        ),
        // Google issues a refresh token only with these two.
        extra_auth_params: { access_type: 'offline', prompt: 'consent' },
      },
    }),
    slack: kindOf({
      title: 'Slack',
      slug: 'slack',
      link: 'https://api.slack.com/apps',
      config: endpoints('https://slack.com/oauth/v2/authorize', 'https://slack.com/api/oauth.v2.access'),
    }),
    notion: kindOf({
      title: 'Notion',
      slug: 'notion',
      link: 'https://www.notion.so/my-integrations',
      config: {
        ...endpoints('https://api.notion.com/v1/oauth/authorize', 'https://api.notion.com/v1/oauth/token'),
        token_endpoint_auth_method: 'client_secret_basic',
        extra_auth_params: { owner: 'user' },
      },
    }),
    entra: kindOf({
      title: 'Entra ID',
      slug: 'entra',
      link: 'https://entra.microsoft.com/#view/Microsoft_AAD_RegisteredApps/ApplicationsListBlade',
      asks: TENANT,
      config: endpoints(`${ENTRA}/oauth2/v2.0/authorize`, `${ENTRA}/oauth2/v2.0/token`),
    }),
    okta: kindOf({
      title: 'Okta',
      slug: 'okta',
      link: 'https://{domain}/admin/apps/active',
      asks: OKTA,
      config: endpoints(`${OKTA_V1}/authorize`, `${OKTA_V1}/token`, `${OKTA_V1}/revoke`),
    }),
    keycloak: kindOf({
      title: 'Keycloak',
      slug: 'keycloak',
      asks: REALM,
      config: endpoints(`${KEYCLOAK}/auth`, `${KEYCLOAK}/token`, `${KEYCLOAK}/revoke`),
    }),
    other: GENERIC,
  },
  fields: { config_data: { kind: 'by_protocol' } },
}

/** The form of a stored broker provider. */
export const providerForm: FormRules = { fields: newProviderForm.fields }

/** The form of a new identity provider. */
export const newIdpForm: FormRules = {
  question: 'Which provider?',
  kinds: {
    entra: {
      title: 'Entra ID',
      asks: TENANT,
      start: { name: 'Entra ID', issuer: `${ENTRA}/v2.0`, jwks_uri: `${ENTRA}/discovery/v2.0/keys` },
    },
    okta: {
      title: 'Okta',
      asks: OKTA,
      start: { name: 'Okta', issuer: 'https://{domain}', jwks_uri: `${OKTA_V1}/keys` },
    },
    keycloak: {
      title: 'Keycloak',
      asks: REALM,
      start: { name: 'Keycloak', issuer: '{realm}', jwks_uri: `${KEYCLOAK}/certs` },
    },
    google: {
      title: 'Google',
      start: {
        name: 'Google',
        issuer: 'https://accounts.google.com',
        jwks_uri: 'https://www.googleapis.com/oauth2/v3/certs',
      },
    },
    other: { title: 'Another provider', start: {} },
  },
  fields: { audience: { advanced: true }, subject_tokens: { advanced: true }, audiences: { advanced: true } },
}
