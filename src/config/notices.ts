// Warnings about valid settings that operators should know of.

import { callbackPath, DEFAULT_PROVIDER, oidcSettings } from './oidc_keys.ts'
import { isProduction } from './rule.ts'
import type { Config } from './schema.ts'
import { sessionSecrets } from './session_secrets.ts'

type DcrMode = Config['dcr']['mode']
/** Warnings, each with whether it applies. */
type Warnings = [boolean, string][]
const applying = (warnings: Warnings): string[] => warnings.filter(([applies]) => applies).map(([, say]) => say)

/** The warnings for the log of `serve`. The DCR mode is the one in force, because operators can change it at run time. */
export const warningsOf = (config: Config, dcrMode: DcrMode): string[] => [
  ...registrationWarnings(config, dcrMode),
  ...settingWarnings(config),
]

/** Warnings about who may register clients. */
export const registrationWarnings = ({ device }: Config, mode: DcrMode): string[] =>
  applying([
    [
      mode === 'open',
      'dcr.mode is open: every caller may register a client with any redirect URI; for development only',
    ],
    [
      mode === 'open' && device.enabled,
      'device.enabled with dcr.mode open: every caller may register a client and send users its device codes (phishing); set dcr.mode: approved_redirects or admin_only',
    ],
  ])

/** Whether the admin listener of a public issuer accepts connections on every interface. */
export function isAdminExposed(config: Config): boolean {
  const { enabled, address } = config.admin
  const host = address.slice(0, address.lastIndexOf(':'))
  return isProduction(config) && enabled && ['', '0.0.0.0', '[::]'].includes(host)
}

/** Warnings about settings that only a restart or a reload changes. */
export function settingWarnings(config: Config): string[] {
  const warnings: Warnings = [
    [
      isAdminExposed(config),
      'admin.address accepts connections on every interface: set 127.0.0.1:9001, or allow only an internal network to reach it',
    ],
    [
      isProduction(config) && config.server.issuer.startsWith('http:'),
      'server.issuer is plain http: tokens and passwords are sent unencrypted unless a proxy adds TLS',
    ],
    [!isProduction(config) && !sessionSecrets(config), 'session.secret is empty: sign-ins end when this process ends'],
    [
      config.broker_providers.length > 0 && !(config.data_encryption.driver && config.connect.state_secret),
      'broker_providers need data_encryption.driver and connect.state_secret: without them users cannot connect to a provider',
    ],
    [
      config.admin.enabled && !config.admin.api_key && config.admin.api_keys.length === 0,
      'admin.api_key is empty: every call to the admin API is refused',
    ],
    [
      config.storage.driver === 'postgres' && config.signing.key_store === 'keyfile',
      'storage.driver postgres with signing.key_store keyfile: other instances load a rotated key only if they use the same folder, and only after SIGHUP; with more than one instance set signing.key_store: postgres_key',
    ],
  ]
  return [...applying(warnings), ...strayCallbacks(config)]
}

/** Providers whose callback is not the callback of this service. */
const strayCallbacks = (config: Config): string[] =>
  oidcSettings(config)
    .filter(({ slug, settings }) => settings.redirect_uri !== config.server.issuer + callbackPath(slug))
    .map(
      ({ slug }) =>
        `oidc.redirect_uri${slug === DEFAULT_PROVIDER ? '' : ` of the provider ${slug}`} is not <server.issuer>${callbackPath(slug)}: users return to this service only if a proxy forwards that URL to it`,
    )
