// Operations on fronting links: which scopes a resource may obtain at the resource behind it.
import type { FrontingLink } from '../../records/fronting_link.ts'
import type { Resource } from '../../records/resource.ts'
import { changed, is, type Op, one, oneAtATime, where } from '../op.ts'
import { column, plainTable } from '../table.ts'

const LINKS = plainTable<FrontingLink>('fronting_links', {
  source_slug: column.text(),
  target_slug: column.text(),
  scope_map: column.json(),
  created_by: column.text(),
  created_at: column.int,
  updated_at: column.int,
})
/** The two resources of a link. */
export type Ends = Pick<FrontingLink, 'source_slug' | 'target_slug'>

/** The link from one resource to another. */
export const findFrontingLink = ({ source_slug, target_slug }: Ends) =>
  LINKS.find`WHERE source_slug = ${source_slug} AND target_slug = ${target_slug}`

const EVERY = 1_000_000
export interface FrontingFilter {
  source_slug?: string
  target_slug?: string
  /** Only links with this resource at one end. */
  slug?: string
  /** Every link by default. */
  limit?: number
  offset?: number
}
/** In order of creation. */
export function* listFrontingLinks(f: FrontingFilter): Op<FrontingLink[]> {
  const filter = where(
    is('source_slug', f.source_slug),
    is('target_slug', f.target_slug),
    f.slug === undefined ? undefined : ['(source_slug = ? OR target_slug = ?)', f.slug, f.slug],
  )
  return yield* LINKS.list`${filter} ORDER BY created_at, source_slug, target_slug
    LIMIT ${f.limit ?? EVERY} OFFSET ${f.offset ?? 0}`
}

export interface LinkWrite {
  link: FrontingLink
  /** The versions of the resources that the link was validated against. */
  ends: readonly Resource[]
  /** Validates only; writes nothing. */
  dry_run: boolean
}

/** Adds a link. `stale`: a resource was changed in the meantime. `cycle`: the links behind the target lead back to the source. */
export function* createFrontingLink({
  link,
  ends,
  dry_run,
}: LinkWrite): Op<'created' | 'exists' | 'cycle' | 'stale' | undefined> {
  const { source_slug, target_slug } = link
  // Two links may form a cycle only together: one operation waits here until it can see the link of the other.
  yield* oneAtATime('fronting_links')
  if (yield* findFrontingLink(link)) return 'exists'
  const circle = yield* one`WITH RECURSIVE behind (slug) AS (
     SELECT target_slug FROM fronting_links WHERE source_slug = ${target_slug}
     UNION SELECT l.target_slug FROM fronting_links l JOIN behind b ON l.source_slug = b.slug
   ) SELECT slug FROM behind WHERE slug = ${source_slug}`
  if (circle) return 'cycle'
  if (dry_run) return undefined
  if (!(yield* areUnchanged(ends))) return 'stale'
  return yield* LINKS.create(link)
}

/** Replaces the scope map. Undefined when the link does not exist. */
export function* updateFrontingLink({ link, ends }: Omit<LinkWrite, 'dry_run'>): Op<'updated' | 'stale' | undefined> {
  if (!(yield* areUnchanged(ends))) return 'stale'
  const { source_slug, target_slug, scope_map, updated_at } = link
  const isKnown =
    yield* changed`UPDATE fronting_links SET scope_map = ${JSON.stringify(scope_map)}, updated_at = ${updated_at}
    WHERE source_slug = ${source_slug} AND target_slug = ${target_slug}`
  return isKnown ? 'updated' : undefined
}

/** Whether resources still have the versions that were read. They are locked, so that a concurrent change waits for the commit. */
function* areUnchanged(resources: readonly Resource[]): Op<boolean> {
  for (const { id, version } of [...resources].sort((a, b) => (a.id < b.id ? -1 : 1))) {
    if (!(yield* changed`UPDATE resources SET version = version + 1 WHERE id = ${id} AND version = ${version}`))
      return false
  }
  return true
}

/** Deletes a link. Returns the deleted link. */
export const deleteFrontingLink = ({ source_slug, target_slug }: Ends) =>
  LINKS.remove`source_slug = ${source_slug} AND target_slug = ${target_slug}`
