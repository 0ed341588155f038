// The only renderer of API errors: RFC 9457 problem details that also have the OAuth members of RFC 6749 §5.2.
import { STATUS_CODES } from 'node:http'
import { OAuthError } from '../lib/error.ts'
import { NO_STORE, type Reply, type RequestHead } from './message.ts'

/** Converts a thrown value to an OAuthError. Any other error becomes server_error; its cause is shown only in the log. */
export const asOAuthError = (error: unknown): OAuthError =>
  error instanceof OAuthError ? error : new OAuthError('server_error', 'internal error', { cause: error })

/** The problem document of an error. */
export function problem(error: OAuthError, head: RequestHead | undefined, requestId?: string): Reply {
  const { status, code } = error
  const description = describe(error.message)
  const challenge = challengeOf(error)
  return {
    status,
    headers: {
      'content-type': contentType(head),
      ...NO_STORE,
      ...(challenge ? { 'www-authenticate': challenge } : {}),
      ...error.more.headers,
    },
    body: JSON.stringify({
      error: code,
      error_description: description,
      type: 'about:blank',
      title: STATUS_CODES[status] ?? 'Error',
      detail: description,
      status,
      ...(requestId ? { request_id: requestId } : {}),
      ...error.more.body,
    }),
  }
}

/** Only %x20-21 / %x23-5B / %x5D-7E may appear in error_description (RFC 6749 §5.2). */
const describe = (text: string): string =>
  /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/.test(text)
    ? text
    : text
        .replaceAll('"', "'")
        .replaceAll('\\', '/')
        .replace(/[^\x20-\x7e]/gu, '?')

/** OAuth libraries that accept only application/json do not read other types. */
function contentType(head: RequestHead | undefined): string {
  const accept = head?.headers.accept ?? ''
  const wantsPlain =
    accept.includes('application/json') && !accept.includes('application/problem+json') && !accept.includes('*/*')
  return wantsPlain ? 'application/json' : 'application/problem+json'
}

function challengeOf(error: OAuthError): string | undefined {
  if (error.code === 'use_dpop_nonce' || error.code === 'invalid_dpop_proof')
    return `DPoP error="${error.code}", algs="ES256 RS256 PS256"`
  if (error.status !== 401) return undefined
  return error.code === 'unauthorized' ? 'Bearer realm="admin"' : 'Basic realm="service", charset="UTF-8"'
}
