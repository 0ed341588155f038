// Refuses requests whose length or meaning two parsers could read differently. The parser of the native engine is lenient
// (docs/decisions/0006), so these rules run before everything else, on both engines.
import { OAuthError } from '../lib/error.ts'
import type { Reason } from '../lib/reasons/index.ts'
import type { RequestHead } from './message.ts'

const SINGLE = new Set(['host', 'content-length', 'transfer-encoding', 'authorization', 'dpop', 'content-type'])
/** The methods of all routes, with HEAD and OPTIONS, which the router answers itself. Every other method is 405 (RFC 9110 §15.5.6). */
export const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
/** A URL is visible ASCII (RFC 9112 §3.2): one parser passes other bytes on, and another refuses the request. */
const TARGET = /^[\x21-\x7e]*$/
/** A method is a token (RFC 9110 §5.6.2). */
const METHOD = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const WITHOUT_BODY = new Set(['GET', 'HEAD', 'OPTIONS'])
/** The native parser accepts any head that fits into its receive buffer of 512 KiB. */
const MAX_HEAD_BYTES = 16 * 1024
const refuse = (description: string, reason: Reason) => new OAuthError('invalid_request', description, { reason })

/** The error in the framing of a request, or undefined. The caller closes the connection of a refused request. */
export function framingFault(head: RequestHead): OAuthError | undefined {
  const { headers, method } = head
  if (sizeOf(head) > MAX_HEAD_BYTES)
    return new OAuthError('invalid_request', 'the head of the request is too large', {
      status: 431,
      reason: 'head_too_large',
    })
  for (const name of head.repeated)
    if (SINGLE.has(name)) return refuse(`the ${name} header is repeated`, 'repeated_header')
  if (!METHODS.has(method) && !METHOD.test(method)) return refuse('the method is malformed', 'bad_method')
  if (!TARGET.test(head.path) || !TARGET.test(head.query))
    return refuse('the URL has characters that must be percent-encoded', 'bad_target')
  if (!headers.host) return refuse('the Host header is missing', 'missing_host')

  const length = headers['content-length']
  const encoding = headers['transfer-encoding']
  if (length !== undefined && !/^\d{1,10}$/.test(length))
    return refuse('the Content-Length header is malformed', 'bad_content_length')
  if (encoding !== undefined && encoding.toLowerCase() !== 'chunked')
    return refuse('the Transfer-Encoding is not supported', 'bad_transfer_encoding')
  if (length !== undefined && encoding !== undefined)
    return refuse('Content-Length and Transfer-Encoding exclude each other', 'two_lengths')
  if (WITHOUT_BODY.has(method) && (encoding !== undefined || Number(length ?? 0) > 0))
    return refuse(`a ${method} request has no body`, 'unexpected_body')
  // Some clients offer h2c on their first request, which a server may ignore. Any other upgrade would change the protocol.
  if (headers.upgrade !== undefined && headers.upgrade.toLowerCase() !== 'h2c')
    return refuse('protocol upgrades are not supported', 'upgrade')
  return undefined
}

function sizeOf({ path, query, headers }: RequestHead): number {
  let size = path.length + query.length
  for (const name in headers) size += name.length + (headers[name]?.length ?? 0)
  return size
}

/**
 * Whether a request that could have a body has no header with its length: its body is empty (RFC 9112 §6.3). The lenient parser may have missed the
 * Content-Length, so no further request on the same connection can be trusted. A DELETE may have a body or not (RFC 9110 §9.3.5).
 */
export const statesNoLength = ({ method, headers }: RequestHead): boolean =>
  headers['content-length'] === undefined &&
  headers['transfer-encoding'] === undefined &&
  method !== 'DELETE' &&
  !WITHOUT_BODY.has(method)

/** Whether the request has a body, after framingFault() found nothing. */
export const hasBody = (head: RequestHead): boolean =>
  head.headers['transfer-encoding'] !== undefined || Number(head.headers['content-length'] ?? 0) > 0
