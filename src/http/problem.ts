// The only renderer of API errors: RFC 9457 problem details that also have the OAuth members of RFC 6749 §5.2.
import { STATUS_CODES } from 'node:http'
import { OAuthError } from '../lib/error.ts'
import { NO_STORE, type Reply, type RequestHead } from './message.ts'

/** Converts a thrown value to an OAuthError. Any other error becomes server_error; its cause is shown only in the log. */
export const asOAuthError = (error: unknown): OAuthError =>
  error instanceof OAuthError ? error : new OAuthError('server_error', 'internal error', { cause: error })

const TYPES = { problem: 'application/problem+json', json: 'application/json' } as const
export type ErrorContentType = keyof typeof TYPES

/** The problem document of an error. `otherwise` is its content type where the Accept header decides nothing; without it, the rule of the admin API holds. */
export function problem(
  error: OAuthError,
  head: RequestHead | undefined,
  requestId?: string,
  otherwise?: ErrorContentType,
): Reply {
  const { status, code } = error
  const description = describe(error.message)
  const challenge = challengeOf(error)
  return {
    status,
    headers: {
      'content-type': TYPES[contentType(head?.headers.accept, otherwise)],
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

/** OAuth libraries that accept only application/json do not read other types. The admin API sends it to callers that accept nothing else. */
function contentType(accept: string | undefined, otherwise: ErrorContentType | undefined): ErrorContentType {
  const named = namedTypes(accept)
  const [json, problem] = [named.includes(TYPES.json), named.includes(TYPES.problem)]
  if (!otherwise) return json && !problem && !named.includes('*/*') ? 'json' : 'problem'
  if (json === problem) return otherwise
  return json ? 'json' : 'problem'
}

/** The media types that an Accept header accepts, without those of weight 0. */
const namedTypes = (accept = ''): string[] =>
  accept
    .toLowerCase()
    .split(',')
    .map((each) => each.split(';').map((part) => part.trim()))
    .filter(([, ...parameters]) => !parameters.some((each) => /^q=0(\.0*)?$/.test(each)))
    .map(([type = '']) => type)

function challengeOf(error: OAuthError): string | undefined {
  if (error.code === 'use_dpop_nonce' || error.code === 'invalid_dpop_proof')
    return `DPoP error="${error.code}", algs="ES256 RS256 PS256"`
  if (error.status !== 401) return undefined
  return error.code === 'unauthorized' ? 'Bearer realm="admin"' : 'Basic realm="service", charset="UTF-8"'
}
