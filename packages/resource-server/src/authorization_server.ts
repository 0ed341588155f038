// The authorization server: its metadata (RFC 8414), read once, and requests with the credentials of this resource server.
import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose'
import type { ClientCredentials } from './options.ts'

/** The members of the metadata that a resource server needs. */
export interface ServerMetadata {
  jwks_uri: string
  introspection_endpoint: string
}

/** The members of the metadata of shared signals that a receiver needs (OpenID SSF 1.0 §7.1). */
export interface TransmitterMetadata {
  configuration_endpoint: string
  verification_endpoint: string
}

const TIMEOUT_MS = 10_000

/** One authorization server, by its issuer. */
export class AuthorizationServer {
  readonly issuer: string
  readonly fetch: typeof fetch
  private readonly documents = new Map<string, Promise<unknown>>()

  constructor(issuer: string, fetcher: typeof fetch) {
    this.issuer = issuer
    this.fetch = fetcher
  }

  /** The metadata of the authorization server. Throws when it cannot be read or names another issuer. */
  metadata(): Promise<ServerMetadata> {
    return this.document<ServerMetadata>('oauth-authorization-server')
  }

  /** Fetches the keys of the authorization server. They are fetched again when a token names an unknown key. */
  async keySet(): Promise<JWTVerifyGetKey> {
    const { jwks_uri } = await this.metadata()
    return createRemoteJWKSet(new URL(jwks_uri), { [customFetch]: this.fetch })
  }

  /** The metadata of the transmitter of events. */
  transmitter(): Promise<TransmitterMetadata> {
    return this.document<TransmitterMetadata>('ssf-configuration')
  }

  /** Sends JSON with the credentials of a client. */
  call(as: ClientCredentials, method: string, url: string, body?: object, signal?: AbortSignal): Promise<Response> {
    return this.fetch(url, {
      method,
      redirect: 'error',
      headers: { authorization: basic(as), accept: 'application/json', 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? AbortSignal.timeout(TIMEOUT_MS),
    })
  }

  /** Introspects a token (RFC 7662). Throws when the response is not 200. */
  async isActive(as: ClientCredentials, token: string): Promise<boolean> {
    const { introspection_endpoint } = await this.metadata()
    const answer = await this.fetch(introspection_endpoint, {
      method: 'POST',
      redirect: 'error',
      headers: { authorization: basic(as), accept: 'application/json' },
      body: new URLSearchParams({ token, token_type_hint: 'access_token' }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    if (!answer.ok) throw new Error(`introspection answered ${answer.status}`)
    return ((await answer.json()) as { active?: unknown }).active === true
  }

  private document<T>(name: string): Promise<T> {
    const known = this.documents.get(name) ?? this.read(name)
    this.documents.set(name, known)
    // A failure is not cached: the next request tries again.
    known.catch(() => this.documents.delete(name))
    return known as Promise<T>
  }

  private async read(name: string): Promise<unknown> {
    const { origin, pathname } = new URL(this.issuer)
    const url = `${origin}/.well-known/${name}${pathname === '/' ? '' : pathname}`
    const answer = await this.fetch(url, { redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) })
    if (!answer.ok) throw new Error(`${url} answered ${answer.status}`)
    const document = (await answer.json()) as { issuer?: unknown }
    if (document.issuer !== this.issuer) throw new Error(`${url} is of the issuer ${String(document.issuer)}`)
    return document
  }
}

/** The credentials in the encoding of RFC 6749 §2.3.1. */
function basic({ clientId, clientSecret }: ClientCredentials): string {
  return `Basic ${btoa([clientId, clientSecret].map(encodeURIComponent).join(':'))}`
}
