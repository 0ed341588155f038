// What a deletion changes in the records that name the deleted one. Without it, a later client with the same id would get the rights of the
// deleted one, and an exported set-up could not be applied elsewhere.
import { isDeepStrictEqual } from 'node:util'
import type { ResourceAccess, ResourcePolicy } from '../records/resource.ts'
import { all, change, containing, decoded, exists, forUpdate, type Op, raw, str, where } from './op.ts'

/** Whether a policy or a stream names a client. The characters % and _ of an id match other text too, so a client may be kept unnecessarily. */
export const IS_NAMED = `(EXISTS (SELECT 1 FROM resources r WHERE r.policy LIKE '%"' || clients.client_id || '"%')
  OR EXISTS (SELECT 1 FROM event_receivers e WHERE e.client_id = clients.client_id))`

/**
 * The slug of a resource whose exchange list contains only this client, and to which other clients would get access if the list were empty:
 * a broker resource, or the target of a fronting link.
 */
export function* findOnlyExchange(client_id: string): Op<string | undefined> {
  const naming = where(containing(JSON.stringify(client_id), 'policy'))
  for (const row of yield* all`SELECT slug, backend_kind, policy FROM resources ${naming} ORDER BY slug`) {
    const { allowed_client_ids } = decoded<ResourcePolicy>(row.policy).exchange
    if (!allowed_client_ids.includes(client_id) || allowed_client_ids.length > 1) continue
    const link = yield* exists`fronting_links WHERE target_slug = ${str(row.slug)}`
    if (row.backend_kind === 'broker' || link) return str(row.slug)
  }
  return undefined
}

/** Removes a client from the policies of all resources. Returns the slugs of those that named it. */
export const removeFromPolicies = (client_id: string, now: number): Op<string[]> =>
  rewrite<ResourcePolicy>('policy', client_id, now, ({ exchange, runtime, ...policy }) => ({
    ...policy,
    exchange: { ...exchange, allowed_client_ids: without(exchange.allowed_client_ids, client_id) },
    runtime: { ...runtime, client_ids: without(runtime.client_ids, client_id) },
  }))

/** Removes a user from the access rules of all resources. */
export const removeFromAccess = (user_id: string, now: number): Op<string[]> =>
  rewrite<ResourceAccess>('access', user_id, now, (access) => ({ ...access, users: without(access.users, user_id) }))

const without = (items: readonly string[], item: string): string[] => items.filter((each) => each !== item)

/** Changes a column of the resources whose JSON contains a text. Returns the slugs of those that changed. */
function* rewrite<T>(column: 'policy' | 'access', name: string, now: number, next: (value: T) => T): Op<string[]> {
  const changed: string[] = []
  const naming = where(containing(JSON.stringify(name), column))
  const found = yield* all`SELECT id FROM resources ${naming} ORDER BY id`
  for (const { id } of found) {
    // Locked and read again, because another transaction may have changed it.
    const row = yield* forUpdate`SELECT slug, ${raw(column)} FROM resources WHERE id = ${str(id)}`
    const value = row?.[column] ? decoded<T>(row[column]) : undefined
    if (!row || value === undefined || isDeepStrictEqual(next(value), value)) continue
    changed.push(str(row.slug))
    yield* change`UPDATE resources SET ${raw(column)} = ${JSON.stringify(next(value))}, updated_at = ${now}, version = version + 1
      WHERE id = ${str(id)}`
  }
  return changed
}

/** Replaces the default resource of all clients that have it, because its URI changed. */
export function* replaceDefaultResource(from: string, to: string, now: number): Op<void> {
  yield* change`UPDATE clients SET default_resource = ${to}, updated_at = ${now}, version = version + 1
    WHERE default_resource = ${from}`
}
