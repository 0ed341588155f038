// Operations on resources.
import { isDeepStrictEqual } from 'node:util'
import type { FrontingLink } from '../../records/fronting_link.ts'
import { EVERYONE, type Resource } from '../../records/resource.ts'
import { type ListPage, type ListSpec, listPage } from '../list.ts'
import {
  change,
  containing,
  decoded,
  forUpdate,
  is,
  maybeStr,
  num,
  type Op,
  one,
  orNull,
  type Row,
  str,
} from '../op.ts'
import { replaceDefaultResource } from '../references.ts'
import { deleteFrontingLink, listFrontingLinks } from './fronting.ts'

const COLUMNS =
  'id, slug, uri, backend_kind, broker_provider_slug, display_name, scopes, policy, access_token_typ, access, token_claims, authorization_details_types, version, created_at, updated_at'

const read = (row: Row): Resource => ({
  id: str(row.id),
  slug: str(row.slug),
  uri: maybeStr(row.uri),
  backend_kind: row.backend_kind as Resource['backend_kind'],
  broker_provider_slug: maybeStr(row.broker_provider_slug),
  display_name: str(row.display_name),
  scopes: decoded(row.scopes),
  policy: decoded(row.policy),
  access_token_typ: maybeStr(row.access_token_typ) as Resource['access_token_typ'],
  access: row.access === null ? EVERYONE : decoded(row.access),
  token_claims: row.token_claims === null ? [] : decoded(row.token_claims),
  authorization_details_types: row.authorization_details_types === null ? [] : decoded(row.authorization_details_types),
  version: num(row.version),
  created_at: num(row.created_at),
  updated_at: num(row.updated_at),
})

const mutable = (r: Resource) => [
  r.slug,
  orNull(r.uri),
  r.backend_kind,
  orNull(r.broker_provider_slug),
  r.display_name,
  JSON.stringify(r.scopes),
  JSON.stringify(r.policy),
  orNull(r.access_token_typ),
  isDeepStrictEqual(r.access, EVERYONE) ? null : JSON.stringify(r.access),
  r.token_claims.length === 0 ? null : JSON.stringify(r.token_claims),
  r.authorization_details_types.length === 0 ? null : JSON.stringify(r.authorization_details_types),
  r.updated_at,
]

/** Whether the provider of a broker resource exists. Its row is locked, so that it is not deleted before the commit. */
function* hasProvider({ broker_provider_slug: slug }: Resource): Op<boolean> {
  return slug === undefined || Boolean(yield* forUpdate('SELECT 1 AS found FROM broker_providers WHERE slug = ?', slug))
}

/** The resource with a URI, compared byte for byte. */
export function* findResource({ uri }: { uri: string }): Op<Resource | undefined> {
  const row = yield* one(`SELECT ${COLUMNS} FROM resources WHERE uri = ?`, uri)
  return row && read(row)
}
/** The resource with an id or slug. An id never looks like a slug. */
export function* findResourceByName({ name }: { name: string }): Op<Resource | undefined> {
  const row = yield* one(`SELECT ${COLUMNS} FROM resources WHERE id = ? OR slug = ?`, name, name)
  return row && read(row)
}

export interface ResourceFilter extends ListPage {
  backend_kind?: Resource['backend_kind']
  broker_provider_slug?: string
  /** Only those with this text in their name, slug or URI. */
  q?: string
}
const LIST: ListSpec = { table: 'resources', columns: COLUMNS, at: 'created_at', id: 'id' }

/** The resources that match the filter, ordered by age. */
export function* listResources({ backend_kind, broker_provider_slug, q, ...page }: ResourceFilter): Op<Resource[]> {
  const rows = yield* listPage(
    LIST,
    page,
    is('backend_kind', backend_kind),
    is('broker_provider_slug', broker_provider_slug),
    q === undefined ? undefined : containing(q, 'display_name', 'slug', 'uri'),
  )
  return rows.map(read)
}

/** Adds a resource. `exists`: its slug or URI is taken. `no_provider`: its provider does not exist. */
export function* createResource(r: Resource): Op<'created' | 'exists' | 'no_provider'> {
  if (!(yield* hasProvider(r))) return 'no_provider'
  const added = yield* change(
    `INSERT INTO resources (slug, uri, backend_kind, broker_provider_slug, display_name, scopes, policy, access_token_typ, access, token_claims, authorization_details_types, updated_at, id, version, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    ...mutable(r),
    r.id,
    r.version,
    r.created_at,
  )
  return added === 1 ? 'created' : 'exists'
}

/** Writes a resource that was read at `r.version`. `uri_before` is its earlier URI: clients that have it as their default resource follow. */
export function* updateResource(
  r: Resource & { uri_before?: string },
): Op<'updated' | 'stale' | 'exists' | 'no_provider'> {
  if (!(yield* hasProvider(r))) return 'no_provider'
  const twin = yield* one(
    'SELECT 1 AS found FROM resources WHERE id <> ? AND (slug = ? OR uri = ?)',
    r.id,
    r.slug,
    orNull(r.uri),
  )
  if (twin) return 'exists'
  const changed = yield* change(
    'UPDATE resources SET slug = ?, uri = ?, backend_kind = ?, broker_provider_slug = ?, display_name = ?, scopes = ?, policy = ?, access_token_typ = ?, access = ?, token_claims = ?, authorization_details_types = ?, updated_at = ?, version = version + 1 WHERE id = ? AND version = ?',
    ...mutable(r),
    r.id,
    r.version,
  )
  if (changed === 0) return 'stale'
  if (r.uri_before !== undefined && r.uri !== undefined)
    yield* replaceDefaultResource(r.uri_before, r.uri, r.updated_at)
  return 'updated'
}

export interface Deletion {
  outcome: 'deleted' | 'has_links' | 'has_consents' | 'has_issuances' | 'has_clients'
  /** The fronting links from or to the resource, which were deleted with it. */
  links: FrontingLink[]
}

/**
 * Deletes a resource. If links, consents, tokens or clients refer to it, only with `cascade`: its links are deleted and its consents revoked.
 * Clients keep it as their default: without one they would get tokens without an audience.
 */
export function* deleteResource({
  id,
  now,
  cascade,
}: {
  id: string
  now: number
  cascade: boolean
}): Op<Deletion | undefined> {
  // Locked, so that no link to it is created in the meantime.
  const resource = yield* forUpdate('SELECT slug, uri FROM resources WHERE id = ?', id)
  if (!resource) return undefined
  const links = yield* listFrontingLinks({ slug: str(resource.slug) })
  if (links.length > 0 && !cascade) return { outcome: 'has_links', links }
  const consent = yield* one(
    'SELECT 1 AS found FROM consent_grants WHERE resource_id = ? AND revoked_at IS NULL LIMIT 1',
    id,
  )
  if (consent && !cascade) return { outcome: 'has_consents', links }
  // The name that the record uses: a broker resource may have no URI.
  const name = str(resource.uri ?? resource.slug)
  const issuance = yield* one('SELECT 1 AS found FROM issuances WHERE resource = ? LIMIT 1', name)
  if (issuance && !cascade) return { outcome: 'has_issuances', links }
  const client = yield* one('SELECT 1 AS found FROM clients WHERE default_resource = ? LIMIT 1', name)
  if (client && !cascade) return { outcome: 'has_clients', links }
  for (const link of links) yield* deleteFrontingLink(link)
  yield* change('UPDATE consent_grants SET revoked_at = ? WHERE resource_id = ? AND revoked_at IS NULL', now, id)
  yield* change('DELETE FROM connect_states WHERE resource_id = ?', id)
  yield* change('DELETE FROM resources WHERE id = ?', id)
  return { outcome: 'deleted', links }
}
