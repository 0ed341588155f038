// The upstream OpenID providers of the configuration.
import { DEFAULT_PROVIDER, oidcSettings } from '../../config/oidc_keys.ts'
import type { Config } from '../../config/schema.ts'
import type { App, OidcProvider } from '../../context.ts'
import { userAgent } from '../../lib/build.ts'
import { OAuthError } from '../../lib/error.ts'
import { addressRules } from '../../net/address_rules.ts'
import { createFetcher } from '../../net/fetch.ts'
import { openOidcProvider } from './oidc_provider.ts'

/** Creates the client of every provider that is enabled. Each has a fetcher of its own, so that a slow provider cannot delay the others. */
export const openOidcProviders = (
  config: Config,
  parts: Pick<App, 'clock' | 'metrics'> & Partial<Pick<App, 'certificates'>>,
): OidcProvider[] =>
  oidcSettings(config).map((provider) => {
    const { allowPrivate, hosts } = addressRules(config, 'oidc')
    const opens = allowPrivate || provider.settings.allow_private_addresses
    const fetcher = createFetcher({
      allowPrivate: opens,
      hosts,
      userAgent: userAgent(),
      certificates: parts.certificates,
    })
    return openOidcProvider(provider, { ...parts, config, fetcher })
  })

/** The provider that a path names by its slug; without a slug, the provider of the keys `oidc.*`. Throws not_found. */
export function providerNamed({ oidc }: App, slug: string | undefined): OidcProvider {
  const provider = oidc.find((each) => each.slug === (slug ?? DEFAULT_PROVIDER))
  if (!provider || slug === DEFAULT_PROVIDER) throw new OAuthError('not_found', 'there is no such page')
  return provider
}
