// What the server of a resource publishes, fetched now by the guarded client: `service admin resource check`.
import type { App } from '../../context.ts'
import { isHttpUrl, rootTwin } from '../../lib/url.ts'
import { FetchError } from '../../net/error.ts'
import type { FetchRequest } from '../../net/fetcher.ts'
import { jsonObjectOf } from '../../net/json.ts'
import { isAdminUri } from '../../oauth/tokens/admin_resource.ts'
import { type Difference, differences, metadataUrlOf } from '../../oauth/tokens/resource_check.ts'
import type { Resource } from '../../records/resource.ts'
import { resourceCheck } from '../answers/answers.ts'
import { conflict, invalid } from '../outcome.ts'

/** The answer of the check, and the check as a tool. */
export const checkedResource = {
  answer: resourceCheck,
  tool: {
    name: 'check_resource',
    title: 'Check a resource server',
    params: { id: { name: 'resource', doc: 'Slug, URI or id of the resource.' } },
  },
}

/** Sends a request to the server of a resource for an operator. Rejects with FetchError. */
export function fetchForOperator(
  { fetchers, config }: App,
  url: string,
  request: Omit<Partial<FetchRequest>, 'maxBytes' | 'timeoutMs' | 'allowHttp'>,
) {
  const fetcher = fetchers.operator
  const timeoutMs = config.cimd.fetch_timeout * 1000
  return fetcher.fetch(url, { ...request, maxBytes: 64 * 1024, timeoutMs, allowHttp: true })
}

/** Refuses a type whose schema cannot be used. Throws invalid_request. */
export async function checkDetailsTypes({ details }: App, { authorization_details_types }: Resource): Promise<void> {
  for (const [i, type] of authorization_details_types.entries()) {
    const problem = await details.problemOf(type)
    if (problem !== undefined)
      throw invalid(`authorization_details_types[${i}].schema cannot be used: ${problem}`, 'details_schema')
  }
}

/** A resource cannot have the URI of the admin listener. With `oauth.match_root_slash` the two forms of a URI without a path are one resource, which cannot be registered twice. Throws conflict. */
export async function checkUri(app: App, { id, uri }: Pick<Resource, 'id' | 'uri'>): Promise<void> {
  if (isAdminUri(app.config, uri))
    throw conflict('this is admin.mcp.url, the resource of the admin listener', 'resource_exists')
  const twin = uri === undefined || !app.config.oauth.match_root_slash ? undefined : rootTwin(uri)
  const other = twin === undefined ? undefined : await app.store.findResource({ uri: twin })
  if (other && other.id !== id)
    throw conflict(`${twin} is registered, which oauth.match_root_slash makes the same`, 'resource_exists')
}

/** Compares the published metadata of a resource with what is registered. Throws invalid_request for a resource without an http(s) URI. */
export async function checkPublished(
  app: App,
  { uri, slug }: Resource,
): Promise<{ url: string; problems: Difference[] }> {
  if (uri === undefined) throw invalid('the resource has no URI, so it has no metadata', 'no_uri')
  if (!isHttpUrl(uri)) throw invalid('metadata is published only for http and https URIs', 'no_metadata_uri')
  const url = metadataUrlOf(uri)
  const published = await fetchMetadata(app, url)
  return {
    url,
    problems: 'document' in published ? differences(app.config, { uri, slug }, published.document) : [published],
  }
}

/** The metadata at a URL, or why it cannot be used. */
export async function fetchMetadata(
  app: App,
  url: string,
): Promise<{ document: Record<string, unknown> } | Difference> {
  try {
    const reply = await fetchForOperator(app, url, { accept: 'application/json' })
    const document = reply.status === 200 ? jsonObjectOf(reply) : undefined
    if (document) return { document }
    return { message: `answers ${reply.status} without metadata`, fix: 'serve the metadata there (RFC 9728)' }
  } catch (error) {
    if (!(error instanceof FetchError)) throw error
    return {
      message: `cannot be fetched: ${error.reason}`,
      fix: fetchFix(error, ', or use `service doctor` on a machine that reaches it'),
    }
  }
}

/** What to do when the server of a resource cannot be reached. `otherwise` is another way for a private address. */
export const fetchFix = ({ reason }: FetchError, otherwise = ''): string =>
  reason === 'blocked_address'
    ? `it is at a private address: add the host to cimd.allow_hosts${otherwise}`
    : 'check its name, its certificate and that it runs'
