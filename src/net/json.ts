// Reads what peers answer in JSON: metadata documents, key sets, token responses.
import { parseObject } from '../lib/json.ts'
import type { FetchReply } from './fetcher.ts'

const JSON_TYPE = /^application\/([\w.-]+\+)?json *(;|$)/i

/** The JSON object in a reply, or undefined when its content type or its bytes say otherwise. The status is the caller's business. */
export const jsonObjectOf = ({ headers, body }: FetchReply): Record<string, unknown> | undefined =>
  JSON_TYPE.test(headers['content-type'] ?? '') ? parseObject(body) : undefined
