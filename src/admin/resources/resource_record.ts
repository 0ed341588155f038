// A resource as the admin API shows and finds it, and the refusals of its writes.
import type { App } from '../../context.ts'
import { rfc3339 } from '../../lib/time.ts'
import { canonicalUrl } from '../../lib/url.ts'
import type { Resource } from '../../records/resource.ts'
import { conflict, existing, notFound } from '../outcome.ts'

/** A resource in the form of the admin API. */
export async function resourceJson({ store }: App, { policy: { connect, ...policy }, ...resource }: Resource) {
  const name = resource.broker_provider_slug
  const provider = name === undefined ? undefined : await store.findProvider({ name })
  return {
    id: resource.id,
    slug: resource.slug,
    uri: resource.uri ?? '',
    backend_kind: resource.backend_kind,
    broker_provider_id: provider?.id ?? '',
    broker_provider_slug: name ?? '',
    display_name: resource.display_name,
    scopes: resource.scopes,
    access_token_typ: resource.access_token_typ ?? 'at+jwt',
    access: resource.access,
    token_claims: resource.token_claims,
    authorization_details_types: resource.authorization_details_types,
    policy: resource.backend_kind === 'broker' ? { ...policy, connect } : policy,
    ...warningOf(resource.uri),
    created_at: rfc3339(resource.created_at),
    updated_at: rfc3339(resource.updated_at),
  }
}

/** A URI that is not in canonical form is stored as written, but clients cannot send it, because URL parsers rewrite it. */
function warningOf(uri: string | undefined): { warning?: string } {
  const canonical = uri === undefined ? undefined : canonicalUrl(uri)
  if (canonical === undefined || canonical === uri) return {}
  return { warning: `clients cannot send this URI: they send ${canonical} instead; register that form` }
}

/** Finds a resource by id or slug. Throws not_found. */
export const getResource = ({ store }: App, name: string) => existing('resource', store.findResourceByName({ name }))

/** What events say about a resource. */
export const factsOf = ({ id, slug }: Resource) => ({ resource_id: id, slug })

/** Throws conflict if its slug or URI is taken, not_found if its provider does not exist. */
export function checkCreated(outcome: string): void {
  if (outcome === 'exists') throw conflict('a resource with this slug or uri exists already', 'resource_exists')
  if (outcome === 'no_provider') throw notFound('broker provider')
}

/** The commands find a resource by its slug. */
export const bySlug = { slug: { field: 'id', doc: 'Slug or id of the resource.' } } as const
