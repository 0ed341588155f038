// The admin API from the browser: the key (in sessionStorage only), calls, refusals.

const KEY = 'service.admin-key'

/** The admin key of this tab; undefined until a key is entered. */
export const storedKey = (): string | undefined => sessionStorage.getItem(KEY) ?? undefined
/** Keeps the key until the tab is closed. */
export const storeKey = (key: string): void => sessionStorage.setItem(KEY, key)
/** Forgets the key and everything else of this tab. */
export const forgetKey = (): void => sessionStorage.clear()

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

/** Called when the server no longer accepts the key. */
export const onRefusedKey: { tell: () => void } = { tell: () => {} }

export type QueryParams = Readonly<Record<string, string | number | boolean | undefined>>

/** A path with the parameters that are not empty. */
export function withQuery(path: string, query: QueryParams = {}): string {
  const used = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(used.map(([name, value]) => [name, String(value)])).toString()
  return text ? `${path}?${text}` : path
}

/** Calls the admin API. Throws ApiError; a network failure is one with status 0. */
export async function sendRequest(method: string, path: string, body?: unknown): Promise<Response> {
  const key = storedKey()
  const headers: Record<string, string> = { authorization: `Bearer ${key}`, accept: 'application/json' }
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
  if (response.status === 401 && key === storedKey()) onRefusedKey.tell()
  throw new ApiError(response.status, refusal)
}

/** Calls the admin API and returns the parsed answer. */
export async function call<T = unknown>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await sendRequest(method, path, body)
  return (response.status === 204 ? undefined : await response.json()) as T
}

/** Reads from the admin API. */
export const get = <T>(path: string, query?: QueryParams): Promise<T> => call<T>('GET', withQuery(path, query))

/** An id as a segment of a path. */
export const segment = (id: string): string => encodeURIComponent(id)
