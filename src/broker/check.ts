// Whether a provider accepts the client id and secret of this service, tried with a code that does not exist: nothing changes there.
import type { App } from '../context.ts'
import { OAuthError } from '../lib/error.ts'
import { newSecret } from '../lib/id.ts'
import type { BrokerProvider } from '../records/broker_provider.ts'
import { callbackOf } from './connect.ts'
import { redeemUpstreamCode } from './oauth.ts'
import { UpstreamRefusal } from './upstream.ts'

/** The codes with which a provider refuses the client, not the code (RFC 6749 §5.2). Keycloak sends the second for a wrong secret. */
const CLIENT_REFUSED: readonly string[] = ['invalid_client', 'unauthorized_client']

/** Whether the provider answers and accepts the client, or the reason why not. */
export interface CheckedProvider {
  usable: boolean
  reason?: string
}

/** Checks a provider with the protocol `oauth`. */
export async function checkBrokerProvider(app: App, provider: BrokerProvider): Promise<CheckedProvider> {
  const proof = { code: newSecret(), code_verifier: newSecret(), redirect_uri: callbackOf(app, provider) }
  try {
    await redeemUpstreamCode(app, provider, { ...proof, requested: [] })
    return { usable: true }
  } catch (error) {
    if (error instanceof UpstreamRefusal) {
      // Providers authenticate the client before they look at the code.
      const reason = `upstream_${error.code}`
      return CLIENT_REFUSED.includes(error.code) ? { usable: false, reason } : { usable: true }
    }
    if (error instanceof OAuthError) return { usable: false, reason: error.reason }
    throw error
  }
}
