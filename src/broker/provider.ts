// Broker providers: the record of a new one, look-up, configuration, upstream scope names.
import type { z } from 'zod'
import type { ProviderRecord } from '../config/provider_record.ts'
import type { App } from '../context.ts'
import { OAuthError } from '../lib/error.ts'
import { newId } from '../lib/id.ts'
import type { Reason } from '../lib/reasons/index.ts'
import type { BrokerProvider } from '../records/broker_provider.ts'
import type { Resource } from '../records/resource.ts'

/** The record of a new provider, created at `now`. */
export const newProvider = (record: ProviderRecord, now: number): BrokerProvider => ({
  ...record,
  id: `bp_${newId()}`,
  version: 1,
  created_at: now,
  updated_at: now,
})

/** The error for a provider that an operator must fix. The caller does not see the cause. */
export const misconfigured = (reason: Reason, cause: Error) =>
  new OAuthError('server_error', 'the provider is not configured correctly', { reason, cause })

/** The provider of a broker resource. Throws server_error when it does not exist. */
export async function providerOf({ store }: App, resource: Resource): Promise<BrokerProvider> {
  const provider = await store.findProvider({ name: resource.broker_provider_slug ?? '' })
  if (!provider) throw misconfigured('provider_missing', new Error(`resource ${resource.slug} has no provider`))
  return provider
}

/** The config_data of a provider, parsed by the schema of its protocol. Throws server_error when it does not match. */
export function configOf<T extends z.ZodType>({ slug, config_data }: BrokerProvider, schema: T): z.output<T> {
  const result = schema.safeParse(config_data)
  if (result.success) return result.data
  throw misconfigured('provider_config', new Error(`config_data of provider ${slug} does not match its protocol`))
}

/** The names of scopes at the provider, without duplicates: the upstream name of each scope, or its own name when it has none. */
export function upstreamScopes({ scopes }: Pick<Resource, 'scopes'>, names: readonly string[]): string[] {
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
