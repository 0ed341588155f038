// The body of a request: a JSON object under one of two media types (RFC 7644 §3.1).
import type { Request } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { parseObject } from '../lib/json.ts'
import { refusal, SCIM_TYPE } from './message.ts'

const TYPES = [SCIM_TYPE, 'application/json']

/** The members of the body. Throws invalidSyntax, or unsupported_media_type. */
export function scimBody(request: Request): Record<string, unknown> {
  const media = (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (!TYPES.includes(media)) throw new OAuthError('unsupported_media_type', `the body must be ${TYPES.join(' or ')}`)
  const body = parseObject(request.body)
  if (!body) throw refusal('invalidSyntax', 'the body must be a JSON object')
  return body
}
