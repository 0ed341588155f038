// Warnings about valid settings that operators should know of.

import { parseRange } from '../lib/range.ts'
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

/** Bits of the prefix of ranges that are too large for the addresses of proxies. */
const LARGE = { ipv4: 16, ipv6: 48 } as const
const largeRanges = ({ server }: Config): string[] =>
  server.trusted_proxies.filter((each) => {
    const range = parseRange(each)
    return range !== undefined && range.bits < LARGE[range.family]
  })

/** Warnings about settings that only a restart or a reload changes. */
export function settingWarnings(config: Config): string[] {
  const warnings: Warnings = [
    [
      largeRanges(config).length > 0,
      `server.trusted_proxies trusts ${largeRanges(config).join(', ')}: every host there can forge the address that lockouts, limits and the audit trail use; list the addresses of the proxies`,
    ],
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

/** How long the native engine keeps an idle connection: at least the first number of seconds, at most the second. */
const NATIVE_IDLE = [8, 12] as const

/** The warning about an idle timeout that is set and has no effect. `given` has the keys that are set, `isNative` says whether uWebSockets.js serves. */
export function idleTimeoutWarnings({ server }: Config, given: ReadonlySet<string>, isNative: boolean): string[] {
  const [least, most] = NATIVE_IDLE
  const isTrue = server.idle_timeout >= least && server.idle_timeout <= most
  if (!isNative || !given.has('server.idle_timeout') || isTrue) return []
  return [
    `server.idle_timeout has no effect with uWebSockets.js, which closes an idle connection after ${least} to ${most} s: let the proxy in front close idle connections after ${least - 1} s or less (docs/operate/deploy.md#connections), or set server.http_engine: node`,
  ]
}

/** Providers whose callback is not the callback of this service. */
const strayCallbacks = (config: Config): string[] =>
  oidcSettings(config)
    .filter(({ slug, settings }) => settings.redirect_uri !== config.server.issuer + callbackPath(slug))
    .map(
      ({ slug }) =>
        `oidc.redirect_uri${slug === DEFAULT_PROVIDER ? '' : ` of the provider ${slug}`} is not <server.issuer>${callbackPath(slug)}: users return to this service only if a proxy forwards that URL to it`,
    )
