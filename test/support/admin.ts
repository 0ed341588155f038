// Calls of the admin API of a test service.
import { assert } from 'vitest'
import { ADMIN_KEY, type TestService } from './service.ts'

export interface AdminAnswer<B> {
  status: number
  headers: Headers
  body: B
}

/** Calls the admin API. `body` is sent as JSON, text as it is; `headers` replace the key and the content type. */
export async function callAdmin<B = Record<string, unknown>>(
  service: Pick<TestService, 'admin'>,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json' },
): Promise<AdminAnswer<B>> {
  const response = await fetch(service.admin + path, {
    method,
    headers,
    body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
  })
  const text = await response.text()
  const lines = response.headers.get('content-type') === 'application/x-ndjson'
  const answer = lines ? text.split('\n').filter(Boolean) : text && JSON.parse(text)
  return { status: response.status, headers: response.headers, body: (answer || undefined) as B }
}

/** The body of an answer that must have succeeded. */
export async function okAdmin<B = Record<string, unknown>>(
  service: Pick<TestService, 'admin'>,
  method: string,
  path: string,
  body?: unknown,
): Promise<B> {
  const answer = await callAdmin<B>(service, method, path, body)
  assert(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}

interface Event {
  kind: string
  actor_id: string
  client_id: string
  detail: Record<string, unknown>
}
/** The audit events of a kind, newest first. */
export const eventsOf = async (service: Pick<TestService, 'admin'>, kind: string): Promise<Event[]> =>
  okAdmin<Event[]>(service, 'GET', `/admin/audit?action=${kind}&limit=1000`)

/** The value of a series in the scrape; 0 when it is not there. */
export async function metricOf({ admin }: Pick<TestService, 'admin'>, series: string): Promise<number> {
  const lines = (await (await fetch(`${admin}/metrics`)).text()).split('\n')
  return Number(lines.find((line) => line.startsWith(`${series} `))?.slice(series.length) ?? 0)
}
