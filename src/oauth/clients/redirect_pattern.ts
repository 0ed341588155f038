// Patterns of URLs. In dcr.approved_redirects `*` stands for any text within one label of the host or one segment of the path. In the
// lists of return URLs it stands only for a port of this machine, or for the rest of a path.
import { glob } from '../../lib/glob.ts'
import { isPrivateUse } from '../../lib/redirect_scheme.ts'
import { isLoopbackHost } from '../../lib/url.ts'

interface Parts {
  scheme: string
  labels: string[]
  port: string
  segments: string[]
  query: string
}

// Read from the raw text: a parser would repair the text before it is compared.
const URL_PARTS = /^(https?):\/\/([A-Za-z0-9.*-]+|\[[0-9a-f:.]+\])(?::(\d{1,5}|\*))?(\/[^?#\\\s]*)?(?:\?([^#\s]*))?$/

function partsOf(text: string): Parts | undefined {
  const [, scheme, host, port = '', path = '/', query = ''] = URL_PARTS.exec(text) ?? []
  if (!scheme || !host) return undefined
  const segments = path.split('/').slice(1)
  return { scheme, labels: host.toLowerCase().split('.'), port, segments, query }
}

/** A segment that browsers resolve to another path: `.`, `..`, and their escaped forms. */
const isDots = (segment: string): boolean => /^(\.|%2e){1,2}$/i.test(segment)

/** Whether a redirect URI matches a pattern, in time linear in both. A private-use URI matches only itself. */
export function matchesPattern(pattern: string, uri: string): boolean {
  if (isPrivateUse(uri)) return pattern === uri
  const [wanted, given] = [partsOf(pattern), partsOf(uri)]
  if (!wanted || !given || uri.includes('*') || given.segments.some(isDots)) return false
  const matchesAll = (patterns: string[], texts: string[]) =>
    patterns.length === texts.length && patterns.every((each, i) => glob(each, texts[i] as string))
  return (
    wanted.scheme === given.scheme &&
    (wanted.port === '*' || wanted.port === given.port) &&
    wanted.query === given.query &&
    matchesAll(wanted.labels, given.labels) &&
    matchesAll(wanted.segments, given.segments)
  )
}

/**
 * Whether a pattern of connect.allowed_return_urls admits a URL: the same text; for `http://localhost:*` any port and path; for a path
 * that ends in `/*` any path below it. A host is never a pattern.
 */
export function matchesReturnUrl(pattern: string, url: string): boolean {
  const [wanted, given] = [partsOf(pattern), partsOf(url)]
  if (!wanted || !given || url.includes('*') || given.segments.some(isDots)) return false
  if (pattern === url) return true
  const host = wanted.labels.join('.')
  const anyPort = wanted.port === '*' && isLoopbackHost(host)
  if (wanted.scheme !== given.scheme || host.includes('*') || host !== given.labels.join('.')) return false
  if (!anyPort && wanted.port !== given.port) return false
  if (anyPort && wanted.segments.join('') === '' && wanted.query === '') return true
  const below = wanted.segments.at(-1) === '*' ? wanted.segments.slice(0, -1) : undefined
  const first = given.segments.slice(0, below?.length)
  return below
    ? first.join('/') === below.join('/') && given.segments.length > below.length
    : wanted.segments.join('/') === given.segments.join('/') && wanted.query === given.query
}
