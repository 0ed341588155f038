// The metadata of an upstream OpenID provider (OpenID Connect Discovery 1.0 §4): fetched, checked, and kept for an hour.
import { z } from 'zod'
import { clip } from '../../lib/bounded.ts'
import { OAuthError } from '../../lib/error.ts'
import { issuesOf } from '../../lib/field.ts'
import type { Clock } from '../../lib/time.ts'
import { isHttpUrl } from '../../lib/url.ts'
import { FetchError } from '../../net/error.ts'
import type { Fetcher } from '../../net/fetcher.ts'
import { jsonObjectOf } from '../../net/json.ts'
import { RemoteCache } from '../../net/remote_cache.ts'

/** Limits of every response of a provider. The token of a user with many groups can have tens of kilobytes. */
export const OIDC_LIMITS = { maxBytes: 1024 * 1024, timeoutMs: 15_000 }
/** Seconds until the metadata and the keys of a provider are fetched again. While the provider is unavailable, they stay in use for the same time once more. */
export const OIDC_TTL = 3600

const names = z.array(z.string()).optional()
const metadataOf = (allowHttp: boolean) => {
  const endpoint = z.string().refine((url) => isHttpUrl(url) && (allowHttp || url.startsWith('https:')))
  return z.object({
    issuer: z.string(),
    authorization_endpoint: endpoint,
    token_endpoint: endpoint,
    jwks_uri: endpoint,
    userinfo_endpoint: endpoint.optional(),
    token_endpoint_auth_methods_supported: names,
    scopes_supported: names,
    authorization_response_iss_parameter_supported: z.boolean().optional(),
  })
}
/** The members of the metadata that are used. */
export type OidcMetadata = z.output<ReturnType<typeof metadataOf>>

/** The provider cannot be reached, or its metadata does not match the configuration. */
export const unreachable = (reason: string, cause?: unknown, about: Record<string, string> = {}): OAuthError =>
  new OAuthError('server_error', 'the identity provider cannot be reached', {
    reason: `oidc_${reason}`,
    cause: cause ?? new Error(`the identity provider cannot be used: ${reason}`),
    about,
  })

const MAX_SHOWN = 255
/** Text of a provider that an operator may see: a URL or an identifier, not a sentence. */
export const shownValue = (value: unknown): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text !== undefined && /^[\x21-\x7e]*$/.test(text) ? clip(text, MAX_SHOWN) : 'another value'
}

/** The issuer that a provider named, when it is a URL. */
export const shownIssuer = (value: unknown): string =>
  typeof value === 'string' && isHttpUrl(value) ? shownValue(value) : 'no URL'

export interface OidcDiscovery {
  /** The metadata. While the provider is unavailable, the previous metadata for another hour. Throws 500 without any. */
  current(): Promise<OidcMetadata>
  /** Fetches the metadata now. Throws 500. */
  fetchNow(): Promise<OidcMetadata>
}

interface Parts {
  issuer: string
  fetcher: Fetcher
  clock: Clock
  /** Whether endpoints may have plain http URLs. */
  allowHttp: boolean
}

/** Creates the cache of the metadata of one provider. */
export function openOidcDiscovery(parts: Parts): OidcDiscovery {
  const { issuer, clock } = parts
  const fetchValue = () => fetchMetadata(parts)
  const cache = new RemoteCache<OidcMetadata>({ fetchValue, clock, ttl: OIDC_TTL, max: 1, bytes: OIDC_LIMITS.maxBytes })
  return { current: () => cache.get(issuer), fetchNow: () => cache.refresh(issuer) }
}

async function fetchMetadata({ issuer, fetcher, allowHttp }: Parts): Promise<OidcMetadata> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const reply = await fetcher.fetch(url, { ...OIDC_LIMITS, accept: 'application/json', allowHttp }).catch((error) => {
    throw error instanceof FetchError ? unreachable(error.reason, error) : error
  })
  // Keycloak answers 404 for a realm that does not exist.
  if (reply.status !== 200)
    throw unreachable('discovery_status', undefined, { expected: '200', found: `${reply.status}` })
  const document = jsonObjectOf(reply)
  if (!document) throw unreachable('discovery_not_json')
  // Compared character by character (§4.3): otherwise one provider could speak for another.
  if (document['issuer'] !== issuer)
    throw unreachable('issuer_differs', undefined, { expected: issuer, found: shownIssuer(document['issuer']) })
  const result = metadataOf(allowHttp).safeParse(document)
  if (!result.success) throw unreachable(`bad_${issuesOf(result.error)[0]?.path.replace(/\W.*/, '') || 'metadata'}`)
  return result.data
}
