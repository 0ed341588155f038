// Compares what a resource server publishes about its resource (RFC 9728), which MCP clients read first, with what is registered here.
import { issuerOf } from '../../config/issuer.ts'
import type { Config } from '../../config/schema.ts'

/** A difference, and what to do about it. */
export interface Difference {
  message: string
  fix: string
}

/** Where clients look for the metadata of a resource (RFC 9728 §3.1). */
export function metadataUrlOf(uri: string): string {
  const { origin, pathname } = new URL(uri)
  return `${origin}/.well-known/oauth-protected-resource${pathname === '/' ? '' : pathname}`
}

/** How the published metadata differs from the registered resource. */
export function differences(
  config: Config,
  { uri, slug }: { uri: string; slug: string },
  published: Readonly<Record<string, unknown>>,
): Difference[] {
  const { resource, authorization_servers: servers } = published
  const found: Difference[] = []
  if (!Array.isArray(servers) || !servers.includes(issuerOf(config)))
    found.push(slashDifference(config, servers) ?? notNamed(config, slug))
  if (resource !== uri)
    found.push({
      message: `names the resource ${JSON.stringify(resource)}, registered is ${JSON.stringify(uri)}`,
      fix: `publish ${uri} there, or change the URI here: service admin resource update --slug ${slug} --uri …`,
    })
  return found
}

const notNamed = ({ server }: Config, slug: string): Difference => ({
  message: 'does not name this server',
  fix: `publish the document of ${server.issuer}/.well-known/oauth-protected-resource/${slug} there, or name that URL as resource_metadata in the WWW-Authenticate header`,
})

/** Python servers add a slash to the issuer, and clients compare character by character. */
function slashDifference(config: Config, servers: unknown): Difference | undefined {
  const own = issuerOf(config)
  const other = own.endsWith('/') ? own.slice(0, -1) : `${own}/`
  if (!Array.isArray(servers) || !servers.includes(other)) return undefined
  const isMore = other.length > own.length
  const here = new URL(own).pathname === '/' ? `, or set server.issuer_trailing_slash: ${isMore} here` : ''
  return {
    message: `names \`${other}\`, this issuer is \`${own}\`: one slash ${isMore ? 'more' : 'less'}`,
    fix: `publish ${own} there${here}`,
  }
}
