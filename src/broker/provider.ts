// A broker provider: from how it is written to the one that is stored, and what others ask about it.
import type { App } from '../app.ts'
import type { ProviderRecord } from '../config/provider_record.ts'
import { OAuthError } from '../lib/error.ts'
import { newId } from '../lib/id.ts'
import type { BrokerProvider, Resource } from '../oauth/types.ts'

/** A provider that is new at `now`. */
export const newProvider = (written: ProviderRecord, now: number): BrokerProvider => ({
  ...written,
  id: `bp_${newId()}`,
  version: 1,
  created_at: now,
  updated_at: now,
})

/** The provider that a broker resource has its tokens from. Throws server_error when it is gone. */
export async function providerOf({ store }: App, { slug, broker_provider_slug: name = '' }: Resource) {
  const provider = await store.findProvider({ name })
  if (!provider)
    throw new OAuthError('server_error', 'the resource has no provider', { reason: 'provider_missing', cause: slug })
  return provider
}
