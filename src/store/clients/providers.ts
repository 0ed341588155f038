// Operations on broker providers.
import type { BrokerProvider } from '../../records/broker_provider.ts'
import { change, exists, forUpdate, type Op, part, str } from '../op.ts'
import { column, recordTable } from '../table.ts'

const PROVIDERS = recordTable<BrokerProvider>('broker_providers', 'id', {
  id: column.text(),
  slug: column.text(),
  display_name: column.text(),
  protocol: column.text(),
  config_data: column.json(),
  version: column.int,
  created_at: column.fixed(column.int),
  updated_at: column.int,
})

/** The provider with an id or slug. An id never looks like a slug. */
export const findProvider = ({ name }: { name: string }) => PROVIDERS.find`WHERE id = ${name} OR slug = ${name}`

/** In order of creation. */
export const listProviders = () => PROVIDERS.list`ORDER BY created_at, id`

/** Adds a provider; `exists` when its slug is taken. */
export const createProvider = (provider: BrokerProvider) => PROVIDERS.create(provider)

/** Writes a provider that was read at `p.version`. If the slug changes, its resources are updated. */
export function* updateProvider(p: BrokerProvider): Op<'updated' | 'stale' | 'exists'> {
  const before = yield* forUpdate`SELECT slug FROM broker_providers WHERE id = ${p.id}`
  if (yield* exists`broker_providers WHERE slug = ${p.slug} AND id <> ${p.id}`) return 'exists'
  if ((yield* PROVIDERS.update(p)) === 'stale' || !before) return 'stale'
  if (before.slug !== p.slug)
    yield* change`UPDATE resources SET broker_provider_slug = ${p.slug}, version = version + 1
      WHERE broker_provider_slug = ${str(before.slug)}`
  return 'updated'
}

/** Deletes a provider that no resource refers to. If users are connected to it, only with cascade, which ends the connections. */
export function* deleteProvider(w: {
  id: string
  cascade: boolean
  now: number
}): Op<'deleted' | 'has_resources' | 'has_grants' | undefined> {
  const { id, cascade, now } = w
  const provider = yield* forUpdate`SELECT slug FROM broker_providers WHERE id = ${id}`
  if (!provider) return undefined
  if (yield* exists`resources WHERE broker_provider_slug = ${str(provider.slug)}`) return 'has_resources'
  const live = part`broker_provider_id = ${id} AND revoked_at IS NULL`
  if (!cascade && (yield* exists`broker_grants WHERE ${live}`)) return 'has_grants'
  yield* change`UPDATE broker_grants SET revoked_at = ${now}, credential = NULL WHERE ${live}`
  yield* change`DELETE FROM connect_states WHERE broker_provider_id = ${id}`
  yield* change`DELETE FROM broker_providers WHERE id = ${id}`
  return 'deleted'
}
