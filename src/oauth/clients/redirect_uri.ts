// Which redirect URIs a client may register, and how their target is shown to users.
import { text } from '../../lib/field.ts'
import { isListedScheme, isPrivateUse, schemeOf } from '../../lib/redirect_scheme.ts'
import { isLoopbackHost, parseHttpUrl } from '../../lib/url.ts'
import type { AuthMethod, Client } from '../../records/client.ts'

/** Parameters of the response. The redirect URI must not contain them, because the response may have only one of each. */
const RESPONSE_PARAMETERS = ['code', 'state', 'iss', 'error', 'error_description']

/** A private-use URI needs a slash after the scheme (RFC 8252 §7.1): `scheme:text` could be a command. */
const PRIVATE_USE = /^[a-z][a-z0-9+.-]*:\/[^\s\\\x00-\x1f\x7f]*$/i

function parseRedirectUri(uri: string): URL | undefined {
  if (!isPrivateUse(uri)) {
    const url = parseHttpUrl(uri)
    return url && (url.protocol === 'https:' || isLoopbackHost(url.hostname)) ? url : undefined
  }
  return PRIVATE_USE.test(uri) && URL.canParse(uri) ? new URL(uri) : undefined
}

/** No fragment and no user (RFC 6749 §3.1.2). */
function isRedirectUri(uri: string): boolean {
  const url = parseRedirectUri(uri)
  return (
    url !== undefined &&
    !uri.includes('#') &&
    url.username === '' &&
    url.password === '' &&
    !RESPONSE_PARAMETERS.some((name) => url.searchParams.has(name))
  )
}

/** https for every host, http on this machine only (RFC 8252 §7.3), or a private-use scheme. The configuration or the client may allow less. */
export const redirectUri = text(2048)
  .refine(
    isRedirectUri,
    'must be an https URL (or http on localhost, 127.0.0.1, [::1]; or scheme:/path of a private-use scheme) without fragment, user, or a parameter of the response',
  )
  .meta({ format: 'uri' })

interface Owner {
  token_endpoint_auth_method: AuthMethod
}
/** Why a client may not have a well-formed redirect URI, or undefined. `schemes` is dcr.redirect_schemes. */
export function redirectFault(uri: string, client: Owner, schemes: readonly string[]): string | undefined {
  if (!isPrivateUse(uri)) return undefined
  if (!isListedScheme(schemes, uri)) return `has the scheme ${schemeOf(uri)}, which dcr.redirect_schemes does not list`
  // Any program can claim the scheme, and a program on the device of a user cannot keep a secret.
  return client.token_endpoint_auth_method === 'none' ? undefined : 'of a private-use scheme is for public clients only'
}

/** Host, port, and the rest of a loopback URI. */
const LOOPBACK = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(?::([1-9]\d{0,4}))?((?:[/?].*)?)$/

/** A loopback URI without its port; undefined for every other URI. */
function withoutPort(uri: string): string | undefined {
  const [, host, port = '80', rest] = LOOPBACK.exec(uri) ?? []
  return host !== undefined && Number(port) <= 65_535 ? host + rest : undefined
}

type Registered = Pick<
  Client,
  'redirect_uris' | 'token_endpoint_auth_method' | 'application_type' | 'registration_source'
>

/**
 * Whether a loopback URI of a client may have another port. A program on the device of a user cannot know which port will be free (RFC 8252
 * §7.3). A confidential client is no such program unless it is native, and the port that an operator gave to a web client is meant.
 */
const mayChangePort = (client: Registered, uri: string): boolean =>
  client.application_type === 'native' ||
  (client.token_endpoint_auth_method === 'none' &&
    (client.registration_source !== 'admin' || LOOPBACK.exec(uri)?.[2] === undefined))

/** Whether a client has registered a redirect URI. URIs match exactly, except for the port of a loopback URI. */
export function hasRedirectUri(client: Registered, requested: string): boolean {
  if (client.redirect_uris.includes(requested)) return true
  const wanted = withoutPort(requested)
  return (
    wanted !== undefined &&
    client.redirect_uris.some((uri) => withoutPort(uri) === wanted && mayChangePort(client, uri))
  )
}

/** Whether any program on the device of the user could receive the response: at a loopback address or by a private-use scheme. */
export const isOnDevice = (uri: string): boolean => isPrivateUse(uri) || isLoopbackHost(new URL(uri).hostname)

/** The target of a redirect URI, as it is shown to users: the host, or the scheme that opens a program, with the host if there is one. */
export function placeOf(uri: string): string {
  const { protocol, host } = new URL(uri)
  return isPrivateUse(uri) ? `${protocol}${host && `//${host}`}` : host
}
