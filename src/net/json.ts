// Parses JSON responses: metadata documents, key sets, token responses.
import { parseObject } from '../lib/json.ts'
import type { FetchReply } from './fetcher.ts'

const JSON_TYPE = /^application\/([\w.-]+\+)?json *(;|$)/i

/** The JSON object in a reply. Undefined when the content type or the bytes are not JSON. The caller must check the status. */
export const jsonObjectOf = ({ headers, body }: FetchReply): Record<string, unknown> | undefined =>
  JSON_TYPE.test(headers['content-type'] ?? '') ? parseObject(body) : undefined
