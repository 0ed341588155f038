// Operations on resources.
import { isDeepStrictEqual } from 'node:util'
import type { FrontingLink } from '../../records/fronting_link.ts'
import { EVERYONE, type Resource } from '../../records/resource.ts'
import { type ListPage, type ListSpec, listPage } from '../list.ts'
import { change, containing, exists, forUpdate, is, maybeDecoded, type Op, orNull } from '../op.ts'
import { replaceDefaultResource } from '../references.ts'
import { column, recordTable } from '../table.ts'
import { keepDeleted, restored } from './deleted.ts'
import { deleteFrontingLink, listFrontingLinks } from './fronting.ts'

/** A list that is NULL while it is empty. */
const list = <T>() => ({
  read: (value: unknown) => maybeDecoded<T[]>(value) ?? [],
  write: (items: readonly T[]) => (items.length === 0 ? null : JSON.stringify(items)),
})
const RESOURCES = recordTable<Resource>('resources', 'id', {
  id: column.text(),
  slug: column.text(),
  uri: column.maybeText(),
  backend_kind: column.text(),
  broker_provider_slug: column.maybeText(),
  display_name: column.text(),
  scopes: column.json(),
  policy: column.json(),
  access_token_typ: column.maybeText(),
  access: {
    read: (value) => maybeDecoded(value) ?? EVERYONE,
    write: (access) => (isDeepStrictEqual(access, EVERYONE) ? null : JSON.stringify(access)),
  },
  token_claims: list(),
  authorization_details_types: list(),
  version: column.int,
  created_at: column.fixed(column.int),
  updated_at: column.int,
})

/** Whether the provider of a broker resource exists. Its row is locked, so that it is not deleted before the commit. */
function* hasProvider({ broker_provider_slug: slug }: Resource): Op<boolean> {
  return slug === undefined || Boolean(yield* forUpdate`SELECT 1 AS found FROM broker_providers WHERE slug = ${slug}`)
}

/** The resource with a URI, compared byte for byte. */
export const findResource = ({ uri }: { uri: string }) => RESOURCES.find`WHERE uri = ${uri}`
/** The resource with an id or slug. An id never looks like a slug. */
export const findResourceByName = ({ name }: { name: string }) => RESOURCES.find`WHERE id = ${name} OR slug = ${name}`

export interface ResourceFilter extends ListPage {
  backend_kind?: Resource['backend_kind']
  broker_provider_slug?: string
  /** Only those with this text in their name, slug or URI. */
  q?: string
}
const LIST: ListSpec = { table: 'resources', columns: RESOURCES.columns, at: 'created_at', id: 'id' }

/** The resources that match the filter, ordered by age. */
export function* listResources({ backend_kind, broker_provider_slug, q, ...page }: ResourceFilter): Op<Resource[]> {
  const rows = yield* listPage(
    LIST,
    page,
    is('backend_kind', backend_kind),
    is('broker_provider_slug', broker_provider_slug),
    q === undefined ? undefined : containing(q, 'display_name', 'slug', 'uri'),
  )
  return rows.map(RESOURCES.read)
}

/** Adds a resource. `exists`: its slug or URI is taken. `no_provider`: its provider does not exist. */
export function* createResource(r: Resource): Op<'created' | 'exists' | 'no_provider'> {
  if (!(yield* hasProvider(r))) return 'no_provider'
  return yield* RESOURCES.create(r)
}

/** Writes a resource that was read at `r.version`. `uri_before` is its earlier URI: clients that have it as their default resource follow. */
export function* updateResource(
  r: Resource & { uri_before?: string },
): Op<'updated' | 'stale' | 'exists' | 'no_provider'> {
  if (!(yield* hasProvider(r))) return 'no_provider'
  if (yield* exists`resources WHERE id <> ${r.id} AND (slug = ${r.slug} OR uri = ${orNull(r.uri)})`) return 'exists'
  if ((yield* RESOURCES.update(r)) === 'stale') return 'stale'
  if (r.uri_before !== undefined && r.uri !== undefined)
    yield* replaceDefaultResource(r.uri_before, r.uri, r.updated_at)
  return 'updated'
}

/**
 * Adds a deleted resource again. Its consents and links stay deleted, and so do clients and users that it named and that were deleted since: a later
 * client with the same id would get their rights. `only_exchange`: its exchange list would become empty, which would allow other clients.
 * Undefined when another restore came first.
 */
export function* restoreResource(w: {
  deleted_id: string
  deleted_at: number
  resource: Resource
}): Op<'created' | 'exists' | 'no_provider' | 'only_exchange' | undefined> {
  const { deleted_id, deleted_at, resource } = w
  return yield* restored(deleted_id, function* () {
    const { policy, access } = resource
    const { exchange, runtime } = policy
    const named = [...new Set([...exchange.allowed_client_ids, ...runtime.client_ids])]
    const same = yield* existingOf('clients WHERE client_id = ? AND issued_at <= ?', named, deleted_at)
    const users = yield* existingOf('users WHERE id = ? AND created_at <= ?', access.users, deleted_at)
    const allowed_client_ids = exchange.allowed_client_ids.filter((id) => same.includes(id))
    if (allowed_client_ids.length === 0 && exchange.allowed_client_ids.length > 0) return 'only_exchange'
    return yield* createResource({
      ...resource,
      policy: {
        ...policy,
        exchange: { ...exchange, allowed_client_ids },
        runtime: { ...runtime, client_ids: runtime.client_ids.filter((id) => same.includes(id)) },
      },
      access: { ...access, users },
    })
  })
}

/** Those of some ids that exist since before a time. */
function* existingOf(rows: string, ids: readonly string[], before: number): Op<string[]> {
  const found: string[] = []
  for (const id of ids) if (yield* exists({ sql: rows, params: [id, before] })) found.push(id)
  return found
}

export interface Deletion {
  outcome: 'deleted' | 'has_links' | 'has_consents' | 'has_issuances' | 'has_clients'
  /** The fronting links from or to the resource, which were deleted with it. */
  links: FrontingLink[]
}

/**
 * Deletes a resource, and keeps it for a restore. If links, consents, tokens or clients refer to it, only with `cascade`: its links are deleted and its consents revoked.
 * Clients keep it as their default: without one they would get tokens without an audience.
 */
export function* deleteResource(w: {
  id: string
  now: number
  cascade: boolean
  by: string
}): Op<Deletion | undefined> {
  const { id, now, cascade, by } = w
  // Locked, so that no link to it is created in the meantime.
  const resource = yield* RESOURCES.lock`WHERE id = ${id}`
  if (!resource) return undefined
  const links = yield* listFrontingLinks({ slug: resource.slug })
  if (links.length > 0 && !cascade) return { outcome: 'has_links', links }
  // The name that the record uses: a broker resource may have no URI.
  const name = resource.uri ?? resource.slug
  if (!cascade) {
    if (yield* exists`consent_grants WHERE resource_id = ${id} AND revoked_at IS NULL`)
      return { outcome: 'has_consents', links }
    if (yield* exists`issuances WHERE resource = ${name}`) return { outcome: 'has_issuances', links }
    if (yield* exists`clients WHERE default_resource = ${name}`) return { outcome: 'has_clients', links }
  }
  for (const link of links) yield* deleteFrontingLink(link)
  yield* change`UPDATE consent_grants SET revoked_at = ${now} WHERE resource_id = ${id} AND revoked_at IS NULL`
  yield* change`DELETE FROM connect_states WHERE resource_id = ${id}`
  const lost = links.map(({ source_slug, target_slug }) => `fronting link from ${source_slug} to ${target_slug}`)
  yield* keepDeleted('resource', resource, {
    name: id,
    label: resource.slug,
    deleted_at: now,
    deleted_by: by,
    lost,
  })
  yield* change`DELETE FROM resources WHERE id = ${id}`
  return { outcome: 'deleted', links }
}
