// Rules between the keys of the sign-in at upstream OpenID providers.
import { isLocalhost } from '../lib/url.ts'
import { type OidcSettings, oidcSettings } from './oidc_keys.ts'
import { isProduction, type Rule, rule } from './rule.ts'
import type { Config } from './schema.ts'

type Settings = OidcSettings['settings']

/** A rule for a member of every provider that is enabled: one for the keys `oidc.*`, one for the records of `oidc.providers`. */
const each = (
  member: keyof Settings,
  message: string,
  bad: (settings: Settings, config: Config) => boolean,
  messageInList = message,
): Rule[] => [
  rule(`oidc.${member}`, message, (c) => c.oidc.enabled && bad(c.oidc, c)),
  rule(`oidc.providers.${member}`, messageInList, (c) =>
    c.oidc.providers.some((record) => record.enabled && bad(record, c)),
  ),
]

export const OIDC_RULES: readonly Rule[] = [
  ...(['issuer', 'client_id', 'client_secret', 'redirect_uri'] as const).flatMap((key) =>
    each(
      key,
      'is required when oidc.enabled is true',
      (settings) => !settings[key],
      'is required for every provider that is enabled',
    ),
  ),
  ...(['issuer', 'redirect_uri'] as const).flatMap((key) =>
    each(
      key,
      'must use https when the issuer is not localhost',
      (settings, c) => isProduction(c) && settings[key] !== '' && !settings[key].startsWith('https:'),
    ),
  ),
  ...each('redirect_uri', 'must have no query and no fragment', ({ redirect_uri }) => /[?#]/.test(redirect_uri)),
  ...each(
    'connector_id',
    'must be letters, digits and hyphens',
    ({ connector_id }) => !/^[A-Za-z0-9-]*$/.test(connector_id),
  ),
  rule('oidc.providers', 'each provider needs a redirect_uri of its own: <server.issuer>/oidc/callback/<slug>', (c) => {
    const used = oidcSettings(c).map(({ settings }) => settings.redirect_uri)
    return new Set(used).size !== used.length
  }),
  rule(
    'admin.mcp.url',
    'is required with admin.mcp.enabled: https or a loopback address, without query and fragment',
    ({ admin: { mcp } }) => mcp.enabled && !isEndpointUrl(mcp.url),
  ),
  rule(
    'admin.sign_in.local',
    'needs admin.sign_in.enabled and webauthn.enabled',
    ({ admin: { sign_in }, webauthn }) => sign_in.local && !(sign_in.enabled && webauthn.enabled),
  ),
  rule(
    'admin.sign_in.url',
    'is required with admin.sign_in.enabled: https or a loopback address, without a path',
    ({ admin: { sign_in } }) => sign_in.enabled && !isPageAddress(sign_in.url),
  ),
  rule('admin.sign_in.providers', 'must name providers of oidc.* that are enabled', (c) => {
    const known = oidcSettings(c).map(({ slug }) => slug)
    const { enabled, local, providers } = c.admin.sign_in
    if (local && known.length === 0) return false
    return enabled && !(providers.length > 0 && providers.every((slug) => known.includes(slug)))
  }),
]

const isEndpointUrl = (text: string) =>
  URL.canParse(text) && (text.startsWith('https:') || isLocalhost(text)) && !/[?#]/.test(text)

const isPageAddress = (text: string) =>
  URL.canParse(text) &&
  (text.startsWith('https:') || isLocalhost(text)) &&
  [text, `${text}/`].includes(`${new URL(text).origin}/`)
