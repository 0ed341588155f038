// The reasons of failed fetches. They may be logged.
import { codeOf, OAuthError } from '../lib/error.ts'

export type FetchReason =
  /** Not an absolute URL of an allowed scheme, or a URL with user and password. */
  | 'bad_url'
  /** The host is, or resolves to, a special-use address. */
  | 'blocked_address'
  | 'dns_failed'
  | 'connect_failed'
  | 'tls_failed'
  | 'timeout'
  | 'redirect'
  | 'too_large'
  /** The response was incomplete, is not HTTP, or says that the peer has failed. */
  | 'bad_response'
  /** The response is complete, and is not the document that was expected. */
  | 'bad_document'

/** A failed fetch. Contains the host, its refused address, and a system error code, never a header, a path, or bytes of the peer. */
export class FetchError extends Error {
  readonly reason: FetchReason
  readonly host: string
  readonly detail: string | undefined
  /** The configuration key that would allow the address of the host. */
  readonly key: string | undefined

  constructor(reason: FetchReason, host: string, detail?: string, key?: string) {
    super(`fetch from ${host || 'nowhere'}: ${reason}${detail ? ` (${detail})` : ''}`)
    this.reason = reason
    this.host = host
    this.detail = detail
    this.key = key
  }
}

const REASONS: readonly [RegExp, FetchReason][] = [
  [
    /^(ERR_TLS|ERR_SSL|EPROTO|CERT_|CRL_|DEPTH_|SELF_SIGNED|UNABLE_TO|INVALID_(CA|PURPOSE)|HOSTNAME_MISMATCH)/,
    'tls_failed',
  ],
  [/^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EACCES|EPERM|EINVAL)/, 'connect_failed'],
  [/^(ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/, 'timeout'],
  [/^(UND_ERR_HEADERS_OVERFLOW|HPE_HEADER_OVERFLOW)$/, 'too_large'],
]

/** Converts the error of an exchange with `host`. The original error is dropped, because it may contain bytes of the peer. */
export function fetchErrorOf(error: unknown, host: string): Error {
  if (error instanceof FetchError || error instanceof OAuthError) return error
  const code = codeOf(error) ?? ''
  return new FetchError(REASONS.find(([pattern]) => pattern.test(code))?.[1] ?? 'bad_response', host, code)
}
