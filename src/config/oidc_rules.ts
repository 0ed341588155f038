// Rules between the keys of the sign-in at upstream OpenID providers.
import { isLocalhost } from '../lib/url.ts'
import { type OidcSettings, oidcSettings } from './oidc_keys.ts'
import { isProduction, type Rule } from './rule.ts'
import type { Config } from './schema.ts'

type Settings = OidcSettings['settings']

/** A rule for a member of every provider that is enabled: one for the keys `oidc.*`, one for the records of `oidc.providers`. */
const each = (
  member: keyof Settings,
  bad: (settings: Settings, config: Config) => boolean,
  message: { single: string; list?: string },
): Rule[] => [
  {
    keys: [`oidc.${member}`],
    bad: (c) => c.oidc.enabled && bad(c.oidc, c),
    message: message.single,
  },
  {
    keys: [`oidc.providers.${member}`],
    bad: (c) => c.oidc.providers.some((record) => record.enabled && bad(record, c)),
    message: message.list ?? message.single,
  },
]

export const OIDC_RULES: readonly Rule[] = [
  ...(['issuer', 'client_id', 'client_secret', 'redirect_uri'] as const).flatMap((key) =>
    each(key, (settings) => !settings[key], {
      single: 'is required when oidc.enabled is true',
      list: 'is required for every provider that is enabled',
    }),
  ),
  ...(['issuer', 'redirect_uri'] as const).flatMap((key) =>
    each(key, (settings, c) => isProduction(c) && settings[key] !== '' && !settings[key].startsWith('https:'), {
      single: 'must use https when the issuer is not localhost',
    }),
  ),
  ...each('redirect_uri', ({ redirect_uri }) => /[?#]/.test(redirect_uri), {
    single: 'must have no query and no fragment',
  }),
  ...each('connector_id', ({ connector_id }) => !/^[A-Za-z0-9-]*$/.test(connector_id), {
    single: 'must be letters, digits and hyphens',
  }),
  {
    keys: ['oidc.providers'],
    bad: (c) => {
      const used = oidcSettings(c).map(({ settings }) => settings.redirect_uri)
      return new Set(used).size !== used.length
    },
    message: 'each provider needs a redirect_uri of its own: <server.issuer>/oidc/callback/<slug>',
  },
  {
    keys: ['admin.mcp.url'],
    bad: ({ admin: { mcp } }) => mcp.enabled && !isEndpointUrl(mcp.url),
    message: 'is required with admin.mcp.enabled: https or a loopback address, without query and fragment',
  },
  {
    keys: ['admin.sign_in.local'],
    bad: ({ admin: { sign_in }, webauthn }) => sign_in.local && !(sign_in.enabled && webauthn.enabled),
    message: 'needs admin.sign_in.enabled and webauthn.enabled',
  },
  {
    keys: ['admin.sign_in.url'],
    bad: ({ admin: { sign_in } }) => sign_in.enabled && !isPageAddress(sign_in.url),
    message: 'is required with admin.sign_in.enabled: https or a loopback address, without a path',
  },
  {
    keys: ['admin.sign_in.providers'],
    bad: (c) => {
      const known = oidcSettings(c).map(({ slug }) => slug)
      const { enabled, local, providers } = c.admin.sign_in
      if (local && known.length === 0) return false
      return enabled && !(providers.length > 0 && providers.every((slug) => known.includes(slug)))
    },
    message: 'must name providers of oidc.* that are enabled',
  },
]

const isEndpointUrl = (text: string) =>
  URL.canParse(text) && (text.startsWith('https:') || isLocalhost(text)) && !/[?#]/.test(text)

const isPageAddress = (text: string) =>
  URL.canParse(text) &&
  (text.startsWith('https:') || isLocalhost(text)) &&
  [text, `${text}/`].includes(`${new URL(text).origin}/`)
