// The media type of a request body: a route accepts one.
import { OAuthError } from '../lib/error.ts'
import type { Request } from './message.ts'
import type { Route } from './route.ts'

type BodyType = NonNullable<Route['body']>['type']

const MEDIA_TYPES = { form: 'application/x-www-form-urlencoded', json: 'application/json' } as const

/** Throws unsupported_media_type when the body has another type than its route accepts, or is encoded. */
export function checkBodyType(type: BodyType, { headers, body }: Request): void {
  const { 'content-type': contentType = '', 'content-encoding': encoding = 'identity' } = headers
  if (encoding.toLowerCase() !== 'identity') throw unsupported('the body must not be encoded')
  if (type === 'any' || contentType === MEDIA_TYPES[type] || (body.length === 0 && type === 'json')) return
  // Neither type has a charset (URL standard §5.1, RFC 8259 §11), but clients send one. A body that is not UTF-8 is refused when it is parsed.
  const media = contentType.split(';', 1)[0]?.trim().toLowerCase()
  if (media !== MEDIA_TYPES[type]) throw unsupported(`the body must be ${MEDIA_TYPES[type]}`)
}

const unsupported = (description: string) => new OAuthError('unsupported_media_type', description)
