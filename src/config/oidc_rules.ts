// Rules between the keys of the sign-in at upstream OpenID providers.
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
]
