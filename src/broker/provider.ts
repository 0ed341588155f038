// A broker provider: from how it is written to the one that is stored, and what others ask about it.
import type { z } from 'zod'
import type { ProviderRecord } from '../config/provider_record.ts'
import type { App } from '../context.ts'
import { OAuthError } from '../lib/error.ts'
import { newId } from '../lib/id.ts'
import type { BrokerProvider } from '../records/broker_provider.ts'
import type { Resource } from '../records/resource.ts'

/** A provider that is new at `now`. */
export const newProvider = (written: ProviderRecord, now: number): BrokerProvider => ({
  ...written,
  id: `bp_${newId()}`,
  version: 1,
  created_at: now,
  updated_at: now,
})

/** What a provider that an operator has to mend is refused with; the caller is not told why. */
export const notSetUp = (reason: string, cause: Error) =>
  new OAuthError('server_error', 'the provider is not set up', { reason, cause })

/** The provider that a broker resource has its tokens from. Throws server_error when it is gone. */
export async function providerOf({ store }: App, resource: Resource): Promise<BrokerProvider> {
  const provider = await store.findProvider({ name: resource.broker_provider_slug ?? '' })
  if (!provider) throw notSetUp('provider_missing', new Error(`resource ${resource.slug} has no provider`))
  return provider
}

/** The config_data of a provider as its protocol reads it. Throws server_error when it is that of another one. */
export function configOf<T extends z.ZodType>({ slug, config_data }: BrokerProvider, schema: T): z.output<T> {
  const result = schema.safeParse(config_data)
  if (result.success) return result.data
  throw notSetUp('provider_config', new Error(`config_data of provider ${slug} does not fit its protocol`))
}

/** What scopes of a resource are called at its provider: their upstream name, else their own; each once. */
export function upstreamScopes({ scopes }: Resource, names: readonly string[]): string[] {
  const found = scopes.filter(({ name }) => names.includes(name))
  return [
    ...new Set(
      found.flatMap(({ name, upstream }) =>
        upstream
          .split(' ')
          .filter(Boolean)
          .concat(upstream.trim() ? [] : name),
      ),
    ),
  ]
}
