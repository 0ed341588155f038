// The authorization server: its metadata (RFC 8414), read once, and requests with the credentials of this resource server.
import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose'
import { withDeadline } from './deadline.ts'
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

/** An answer whose body has been read. */
export interface Answer {
  ok: boolean
  status: number
  body: string
}

/** The time limit of a request, and the signal that ends it. */
interface Until {
  ms?: number
  ended?: AbortSignal
}

const TIMEOUT_MS = 10_000

/** One authorization server, by its issuer. */
export class AuthorizationServer {
  readonly issuer: string
  private readonly fetch: typeof fetch
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
  call(as: ClientCredentials, method: string, url: string, body?: object, until?: Until): Promise<Answer> {
    const headers = { authorization: basic(as), accept: 'application/json', 'content-type': 'application/json' }
    return this.send(url, { method, headers, body: body === undefined ? null : JSON.stringify(body) }, until)
  }

  /** Introspects a token (RFC 7662). Returns the scopes that it has now, or undefined if it is not active. Throws when the response is not 200. */
  async introspect(as: ClientCredentials, token: string): Promise<readonly string[] | undefined> {
    const { introspection_endpoint } = await this.metadata()
    const answer = await this.send(introspection_endpoint, {
      method: 'POST',
      headers: { authorization: basic(as), accept: 'application/json' },
      body: new URLSearchParams({ token, token_type_hint: 'access_token' }),
    })
    if (!answer.ok) throw new Error(`introspection answered ${answer.status}`)
    const { active, scope } = JSON.parse(answer.body) as { active?: unknown; scope?: unknown }
    return active === true ? scopesOf(scope) : undefined
  }

  private send(url: string, init: RequestInit, { ms = TIMEOUT_MS, ended }: Until = {}): Promise<Answer> {
    return withDeadline(ms, ended, async (signal) => {
      const answer = await this.fetch(url, { ...init, redirect: 'error', signal })
      return { ok: answer.ok, status: answer.status, body: await answer.text() }
    })
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
    const answer = await this.send(url, {})
    if (!answer.ok) throw new Error(`${url} answered ${answer.status}`)
    const document = JSON.parse(answer.body) as { issuer?: unknown }
    if (document.issuer !== this.issuer) throw new Error(`${url} is of the issuer ${String(document.issuer)}`)
    return document
  }
}

/** The scopes in a claim; none if it is not a text. */
export const scopesOf = (scope: unknown): string[] =>
  typeof scope === 'string' ? scope.split(' ').filter(Boolean) : []

/** The credentials in the encoding of RFC 6749 §2.3.1. */
function basic({ clientId, clientSecret }: ClientCredentials): string {
  return `Basic ${btoa([clientId, clientSecret].map(encodeURIComponent).join(':'))}`
}
