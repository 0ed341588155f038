// Schemes of private-use redirect URIs (RFC 8252 §7.1): `cursor://…` opens a program on the device of the user.

/** Browsers run, read or fetch what these schemes name. No configuration allows them; http and https have rules of their own. */
const FORBIDDEN = new Set(['javascript', 'data', 'file', 'blob', 'vbscript', 'about', 'http', 'https', 'ws', 'wss'])
/** Stands for every scheme with a dot, such as `com.example.app`. No forbidden scheme has a dot. */
const WITH_DOT = '*.*'
const SCHEME = /^[a-z][a-z0-9+.-]*$/i

/** The scheme of a URI in lower case (RFC 3986 §3.1), or undefined. */
export const schemeOf = (uri: string): string | undefined => /^([a-z][a-z0-9+.-]*):/i.exec(uri)?.[1]?.toLowerCase()

/** Whether a redirect URI opens a program by a private-use scheme, and is none of the web. */
export const isPrivateUse = (uri: string): boolean => {
  const scheme = schemeOf(uri)
  return scheme !== undefined && !FORBIDDEN.has(scheme)
}

/** Whether a text may be an entry of dcr.redirect_schemes. */
export const isSchemeRule = (rule: string): boolean =>
  rule === WITH_DOT || (SCHEME.test(rule) && !FORBIDDEN.has(rule.toLowerCase()))

/** Whether the scheme of a private-use URI is on a list. */
export function isListedScheme(rules: readonly string[], uri: string): boolean {
  const scheme = schemeOf(uri) ?? ''
  return rules.some((rule) => (rule === WITH_DOT ? scheme.includes('.') : rule.toLowerCase() === scheme))
}
