// Checks of the upstream OpenID providers: their metadata and keys, and whether they accept this service.

import { type Finding, fail, ok } from '../../admin/finding.ts'
import { oidcSettings } from '../../config/oidc_keys.ts'
import type { Config } from '../../config/schema.ts'
import type { OidcProvider } from '../../context.ts'
import { OAuthError } from '../../lib/error.ts'
import { systemClock } from '../../lib/time.ts'
import { openOidcProviders } from '../../oauth/federation/oidc_providers.ts'
import { Metrics } from '../../telemetry/metrics.ts'

/** Checks every provider that is enabled, from this machine. */
export async function checkProviders(config: Config): Promise<Finding[]> {
  if (oidcSettings(config).length === 0) return []
  const providers = openOidcProviders(config, { clock: systemClock, metrics: new Metrics() })
  return Promise.all(providers.map(checkProvider))
}

async function checkProvider({ slug, settings, look, checkClient }: OidcProvider): Promise<Finding> {
  const check = `provider ${slug}`
  const { issuer, client_id } = settings
  try {
    const { keys } = await look()
    if (keys === 0) return fail(check, `${issuer} publishes no keys`, 'no ID token can be verified: see the keys there')
    await checkClient()
    return ok(check, `${issuer} serves its metadata and ${keys} keys, and accepts the client ${client_id}`)
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    const { expected, found } = error.more.about ?? {}
    const difference = found === undefined ? '' : `: expected ${expected}, found ${found}`
    return fail(check, `${issuer} cannot be used: ${error.reason}${difference}`, fixOf(error.reason))
  }
}

/** The suggested correction, by the reason of a failure. */
const FIXES: Readonly<Record<string, string>> = {
  oidc_issuer_differs: 'set issuer to the issuer that was found, character by character',
  oidc_discovery_status:
    'issuer must be the URL above /.well-known/openid-configuration; at Keycloak it ends with /realms/<realm>',
  oidc_discovery_not_json: 'issuer must be the URL above /.well-known/openid-configuration',
  oidc_invalid_client: 'copy client_id and client_secret from the provider again',
  // Keycloak answers so for a wrong secret.
  oidc_unauthorized_client:
    'copy client_id and client_secret from the provider again, and allow the authorization code grant there',
  oidc_blocked_address:
    'for a provider in your network add its host to oidc.allow_hosts, or set allow_private_addresses: true',
  oidc_tls_failed: 'Node must trust the certificate of the provider: NODE_EXTRA_CA_CERTS',
}
const fixOf = (reason: string): string => FIXES[reason] ?? 'check DNS, the network and the provider'
