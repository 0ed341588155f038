// Parses JSON responses: metadata documents, key sets, token responses.
import { parseObject } from '../lib/json.ts'
import { FetchError } from './error.ts'
import type { Fetcher, FetchReply, FetchRequest } from './fetcher.ts'

const JSON_TYPE = /^application\/([\w.-]+\+)?json *(;|$)/i

/** The JSON object in a reply. Undefined when the content type or the bytes are not JSON. The caller must check the status. */
export const jsonObjectOf = ({ headers, body }: FetchReply): Record<string, unknown> | undefined =>
  JSON_TYPE.test(headers['content-type'] ?? '') ? parseObject(body) : undefined

const TIMEOUT_MS = 10_000

/**
 * Fetches a JSON object that another server publishes. Rejects as the fetcher does, with bad_response when the server says that it has
 * failed, and with bad_document for any other answer.
 */
export async function fetchJson(
  fetcher: Fetcher,
  url: string,
  request: Omit<FetchRequest, 'timeoutMs'>,
): Promise<Record<string, unknown>> {
  const reply = await fetcher.fetch(url, { timeoutMs: TIMEOUT_MS, ...request })
  const { status } = reply
  const json = jsonObjectOf(reply)
  if (status === 200 && json) return json
  const reason = status >= 500 || status === 429 ? 'bad_response' : 'bad_document'
  throw new FetchError(reason, new URL(url).host, status === 200 ? 'no JSON object' : `status ${status}`)
}
