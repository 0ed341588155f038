// Operations on broker providers.
import type { BrokerProvider } from '../../records/broker_provider.ts'
import { all, change, decoded, forUpdate, num, type Op, one, type Row, str } from '../op.ts'

const COLUMNS = 'id, slug, display_name, protocol, config_data, version, created_at, updated_at'

const read = (row: Row): BrokerProvider => ({
  id: str(row.id),
  slug: str(row.slug),
  display_name: str(row.display_name),
  protocol: row.protocol as BrokerProvider['protocol'],
  config_data: decoded(row.config_data),
  version: num(row.version),
  created_at: num(row.created_at),
  updated_at: num(row.updated_at),
})
const mutable = (p: BrokerProvider) => [p.slug, p.display_name, p.protocol, JSON.stringify(p.config_data), p.updated_at]

/** The provider with an id or slug. An id never looks like a slug. */
export function* findProvider({ name }: { name: string }): Op<BrokerProvider | undefined> {
  const row = yield* one(`SELECT ${COLUMNS} FROM broker_providers WHERE id = ? OR slug = ?`, name, name)
  return row && read(row)
}

/** In order of creation. */
export function* listProviders(): Op<BrokerProvider[]> {
  return (yield* all(`SELECT ${COLUMNS} FROM broker_providers ORDER BY created_at, id`)).map(read)
}

/** Adds a provider; `exists` when its slug is taken. */
export function* createProvider(p: BrokerProvider): Op<'created' | 'exists'> {
  const added = yield* change(
    `INSERT INTO broker_providers (slug, display_name, protocol, config_data, updated_at, id, version, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    ...mutable(p),
    p.id,
    p.version,
    p.created_at,
  )
  return added === 1 ? 'created' : 'exists'
}

/** Writes a provider that was read at `p.version`. If the slug changes, its resources are updated. */
export function* updateProvider(p: BrokerProvider): Op<'updated' | 'stale' | 'exists'> {
  const before = yield* forUpdate('SELECT slug FROM broker_providers WHERE id = ?', p.id)
  const twin = yield* one('SELECT 1 AS found FROM broker_providers WHERE slug = ? AND id <> ?', p.slug, p.id)
  if (twin) return 'exists'
  const changed = yield* change(
    'UPDATE broker_providers SET slug = ?, display_name = ?, protocol = ?, config_data = ?, updated_at = ?, version = version + 1 WHERE id = ? AND version = ?',
    ...mutable(p),
    p.id,
    p.version,
  )
  if (changed === 0 || !before) return 'stale'
  if (before.slug !== p.slug)
    yield* change(
      'UPDATE resources SET broker_provider_slug = ?, version = version + 1 WHERE broker_provider_slug = ?',
      p.slug,
      str(before.slug),
    )
  return 'updated'
}

/** Deletes a provider that no resource refers to. If users are connected to it, only with cascade, which ends the connections. */
export function* deleteProvider({
  id,
  cascade,
  now,
}: {
  id: string
  cascade: boolean
  now: number
}): Op<'deleted' | 'has_resources' | 'has_grants' | undefined> {
  const provider = yield* forUpdate('SELECT slug FROM broker_providers WHERE id = ?', id)
  if (!provider) return undefined
  const { slug } = provider
  if (yield* one('SELECT 1 AS found FROM resources WHERE broker_provider_slug = ? LIMIT 1', str(slug)))
    return 'has_resources'
  const live = 'broker_provider_id = ? AND revoked_at IS NULL'
  if (!cascade && (yield* one(`SELECT 1 AS found FROM broker_grants WHERE ${live} LIMIT 1`, id))) return 'has_grants'
  yield* change(`UPDATE broker_grants SET revoked_at = ?, credential = NULL WHERE ${live}`, now, id)
  yield* change('DELETE FROM connect_states WHERE broker_provider_id = ?', id)
  yield* change('DELETE FROM broker_providers WHERE id = ?', id)
  return 'deleted'
}
