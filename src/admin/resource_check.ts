// What the server of a resource publishes, fetched now by the guarded client: `service admin resource check`.
import type { App } from '../context.ts'
import { FetchError } from '../net/error.ts'
import { jsonObjectOf } from '../net/json.ts'
import { type Difference, differences, metadataUrlOf } from '../oauth/resource_check.ts'
import type { Resource } from '../records/resource.ts'
import { invalid } from './outcome.ts'

const MAX_BYTES = 64 * 1024

/** Compares the published metadata of a resource with what is registered. Throws invalid_request for a resource without a URI. */
export async function checkPublished(
  app: App,
  { uri, slug }: Resource,
): Promise<{ url: string; problems: Difference[] }> {
  if (uri === undefined) throw invalid('the resource has no URI, so it has no metadata', 'no_uri')
  const url = metadataUrlOf(uri)
  const published = await fetchMetadata(app, url)
  return {
    url,
    problems: 'document' in published ? differences(app.config, { uri, slug }, published.document) : [published],
  }
}

async function fetchMetadata(app: App, url: string): Promise<{ document: Record<string, unknown> } | Difference> {
  try {
    const reply = await app.fetcher.fetch(url, {
      accept: 'application/json',
      maxBytes: MAX_BYTES,
      timeoutMs: app.config.cimd.fetch_timeout * 1000,
      allowHttp: true,
    })
    const document = reply.status === 200 ? jsonObjectOf(reply) : undefined
    if (document) return { document }
    return { message: `answers ${reply.status} without metadata`, fix: 'serve the metadata there (RFC 9728)' }
  } catch (error) {
    if (!(error instanceof FetchError)) throw error
    const fix =
      error.reason === 'blocked_address'
        ? 'it is at a private address: add the host to cimd.allow_hosts, or use `service doctor` on a machine that reaches it'
        : 'check its name, its certificate and that it runs'
    return { message: `cannot be fetched: ${error.reason}`, fix }
  }
}
