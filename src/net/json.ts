// Reads what peers answer in JSON: metadata documents, key sets, token responses.
import { isUtf8 } from 'node:buffer'
import type { FetchReply } from './fetch.ts'

const JSON_TYPE = /^application\/([\w.-]+\+)?json *(;|$)/i

/** The JSON object in a reply, or undefined when its content type or its bytes say otherwise. The status is the caller's business. */
export function jsonObjectOf({ headers, body }: FetchReply): Record<string, unknown> | undefined {
  if (!JSON_TYPE.test(headers['content-type'] ?? '') || !isUtf8(body)) return undefined
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
