// Questions about URLs that more than one part asks.

/** The parsed form of an absolute http or https URL, or undefined. Refuses what a parser would silently repair. */
export function parseHttpUrl(text: string): URL | undefined {
  if (!/^https?:\/\/[^/\s\\\x00-\x1f\x7f][^\s\\\x00-\x1f\x7f]*$/i.test(text) || !URL.canParse(text)) return undefined
  return new URL(text)
}

export const isHttpUrl = (text: string): boolean => parseHttpUrl(text) !== undefined

const LOOPBACK_HOSTS = new Set(['localhost', '127.0.0.1', '[::1]'])
/** True for the three names of this machine that RFC 8252 and MCP clients use. */
export const isLoopbackHost = (hostname: string): boolean => LOOPBACK_HOSTS.has(hostname)

/** True when the issuer names this machine only: development rules apply. */
export function isLocalhostIssuer(issuer: string): boolean {
  const url = parseHttpUrl(issuer)
  return url !== undefined && isLoopbackHost(url.hostname)
}
