// The guarded client with the interface of the platform's fetch, for libraries that implement a protocol without an HTTP client.
import type { Fetcher, FetchRequest } from './fetcher.ts'

interface WebRequest {
  method: string
  headers: Record<string, string>
  body?: unknown
}

/** A fetch that goes through `fetcher`, within its limits. Rejects as Fetcher.fetch() does. */
export const webFetch =
  (fetcher: Fetcher, limits: Pick<FetchRequest, 'maxBytes' | 'timeoutMs' | 'allowHttp'>) =>
  async (url: string, { method, headers, body }: WebRequest): Promise<Response> => {
    // The User-Agent of the library is not sent.
    const { 'user-agent': _, ...fields } = headers
    const reply = await fetcher.fetch(url, {
      ...limits,
      method: method === 'POST' ? 'POST' : 'GET',
      headers: fields,
      body: body === undefined || body === null ? undefined : String(body),
    })
    const received = Object.entries(reply.headers).filter((each): each is [string, string] => each[1] !== undefined)
    return new Response(reply.body.length > 0 ? new Uint8Array(reply.body) : null, {
      status: reply.status,
      headers: received,
    })
  }
