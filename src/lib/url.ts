// Predicates and normal forms of URLs.

/** Parses an absolute http or https URL. Undefined for other texts, also for those that a parser would silently repair. */
export function parseHttpUrl(text: string): URL | undefined {
  if (!/^https?:\/\/[^/\s\\\x00-\x1f\x7f][^\s\\\x00-\x1f\x7f]*$/i.test(text) || !URL.canParse(text)) return undefined
  return new URL(text)
}

/** True for an absolute http or https URL. */
export const isHttpUrl = (text: string): boolean => parseHttpUrl(text) !== undefined

/** True for a scheme with something behind it, in the characters of a URI, with whole escapes (RFC 3986 §2, §3). */
export const isAbsoluteUri = (text: string): boolean =>
  /^[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+$/.test(text)

const LOOPBACK_HOSTS = new Set(['localhost', '127.0.0.1', '[::1]'])
/** True for the three names of this machine that RFC 8252 and MCP clients use. */
export const isLoopbackHost = (hostname: string): boolean => LOOPBACK_HOSTS.has(hostname)

/** True when the host of a URL is this machine. */
export function isLocalhost(text: string): boolean {
  const url = parseHttpUrl(text)
  return url !== undefined && isLoopbackHost(url.hostname)
}

const UNRESERVED = /[A-Za-z0-9._~-]/

/**
 * An http(s) URL without query and fragment, normalised by syntax and scheme (RFC 3986 §6.2.2, §6.2.3): two spellings of
 * one URL become equal. Undefined for anything else, and for URLs that name a user.
 */
export function normalisedUrl(text: string): string | undefined {
  const url = parseHttpUrl(text)
  if (!url || url.username || url.password) return undefined
  const path = url.pathname.replace(/%([0-9a-f]{2})/gi, (escaped, hex: string) => {
    const char = String.fromCharCode(Number.parseInt(hex, 16))
    return UNRESERVED.test(char) ? char : escaped.toUpperCase()
  })
  return url.origin + path
}

/** The other form of an http(s) URL without a path: with a slash at its end, or without it (RFC 3986 §6.2.3). Undefined for other URLs. */
export function rootTwin(text: string): string | undefined {
  if (!/^https?:\/\/[^/?#]+\/?$/i.test(text)) return undefined
  return text.endsWith('/') ? text.slice(0, -1) : `${text}/`
}

/**
 * An http(s) URL as parsers write it, which is what clients send: lower case, no default port, no dot segments. A URL without a
 * path keeps its slash, or the lack of it.
 */
export function canonicalUrl(text: string): string | undefined {
  const url = parseHttpUrl(text)
  if (!url) return undefined
  return rootTwin(text) !== undefined && !text.endsWith('/') ? url.href.replace(/\/$/, '') : url.href
}

/** Whether a browser says that another site makes this request (Fetch Metadata §2.3): it is never a form or page of ours. */
export const isCrossSite = ({ headers }: { headers: Readonly<Record<string, string | undefined>> }): boolean =>
  ['cross-site', 'same-site'].includes(headers['sec-fetch-site'] ?? '')
