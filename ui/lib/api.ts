// The admin API from the browser: calls and refusals. A cookie that scripts cannot read says who is signed in.

import type { JobAnswer } from './types.ts'

/** A refusal of the admin API, with its message. */
export class ApiError extends Error {
  readonly status: number
  readonly requestId: string
  /** The items of a list that were refused, by their index. */
  readonly errors?: readonly { index: number; message: string }[]

  constructor(status: number, body: Record<string, unknown>) {
    super(String(body['error_description'] ?? `the server answered ${status}`))
    this.status = status
    this.requestId = String(body['request_id'] ?? '')
    if (Array.isArray(body['errors'])) this.errors = body['errors']
  }
}

/** Called when the server no longer accepts the session. */
export const onRefusedSession: { tell: () => void } = { tell: () => {} }

export type QueryParams = Readonly<Record<string, string | number | boolean | undefined>>

/** A path with the parameters that are not empty. */
export function withQuery(path: string, query: QueryParams = {}): string {
  const used = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(used.map(([name, value]) => [name, String(value)])).toString()
  return text ? `${path}?${text}` : path
}

interface Sent {
  body?: unknown
  /** An admin key, in place of the session. */
  key?: string
}

/** Calls the admin API. Throws ApiError; a network failure is one with status 0. */
export async function sendRequest(method: string, path: string, { body, key }: Sent = {}): Promise<Response> {
  // Pages of other origins cannot send this header. The server accepts the cookie only with it.
  const headers: Record<string, string> = { 'x-admin-page': window.location.protocol, accept: 'application/json' }
  if (key !== undefined) headers['authorization'] = `Bearer ${key}`
  if (body !== undefined) headers['content-type'] = 'application/json'
  const response = await fetch(path, {
    method,
    headers,
    // Browsers send `content-length: 0` for a PATCH only if its body is an empty text.
    body: body !== undefined ? JSON.stringify(body) : method === 'PATCH' ? '' : undefined,
    cache: 'no-store',
    redirect: 'error',
  }).catch(() => {
    throw new ApiError(0, { error_description: 'the server cannot be reached' })
  })
  if (response.ok) return response
  const refusal = (await response.json().catch(() => ({}))) as Record<string, unknown>
  if (response.status === 401 && key === undefined) onRefusedSession.tell()
  throw new ApiError(response.status, refusal)
}

/** Calls the admin API and returns the parsed answer: of an operation that takes long, the answer at its end. */
export async function call<T = unknown>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await sendRequest(method, path, { body })
  return response.status === 202 ? endOfJob<T>(await response.json()) : parsedAnswer<T>(response)
}

/** Called with the progress of a long operation; undefined at its end. */
export const onProgress: { tell: (job?: JobAnswer) => void } = { tell: () => {} }

async function endOfJob<T>({ id }: JobAnswer): Promise<T> {
  try {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, JOB_MS))
      const job = await call<JobAnswer>('GET', `/admin/jobs/${segment(id)}`)
      onProgress.tell(job)
      if (job.status === 'done') return job.answer as T
      if (job.status === 'failed') throw new ApiError(500, { error_description: job.error_description })
      if (job.status === 'interrupted')
        throw new ApiError(0, { error_description: 'the server ended meanwhile: start the operation again' })
    }
  } finally {
    onProgress.tell()
  }
}
const JOB_MS = 500

/** The parsed body of an answer. */
export const parsedAnswer = async <T>(response: Response): Promise<T> =>
  (response.status === 204 ? undefined : await response.json()) as T

/** Reads from the admin API. */
export const get = <T>(path: string, query?: QueryParams): Promise<T> => call<T>('GET', withQuery(path, query))

/** Reads a list. `stopped` is the place behind which a search continues that may read no more rows at once. */
export async function getList(path: string, query: QueryParams): Promise<{ answer: unknown; stopped?: string }> {
  const response = await sendRequest('GET', withQuery(path, query))
  const [, stopped] = /[?&]after=([\w-]+).*rel="next"/.exec(response.headers.get('link') ?? '') ?? []
  return { answer: await parsedAnswer(response), stopped }
}

/** An id as a segment of a path. */
export const segment = (id: string): string => encodeURIComponent(id)
