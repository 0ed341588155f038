// Requests to a service with several front threads: each on a connection of its own, so that the system spreads them.
import { request } from 'node:http'
import type { TestService } from './service.ts'

export interface FreshAnswer {
  status: number
  body: Record<string, unknown>
}

/** Sends a request on a new connection that ends with it. A form when there are fields. */
export function fresh(
  { issuer }: Pick<TestService, 'issuer'>,
  path: string,
  fields?: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<FreshAnswer> {
  return new Promise((resolve, reject) => {
    const form = fields && new URLSearchParams(fields).toString()
    const sent = request(issuer + path, { method: form === undefined ? 'GET' : 'POST', agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text ? JSON.parse(text) : {} }))
      response.on('error', reject)
    })
    for (const [name, value] of Object.entries(headers)) sent.setHeader(name, value)
    if (form !== undefined) sent.setHeader('content-type', 'application/x-www-form-urlencoded')
    sent.on('error', reject)
    sent.end(form)
  })
}

/** Enough connections that each of four threads gets some, except in a few of a hundred million runs. */
export const MANY = 64

/** Runs a function many times concurrently; returns the answers in order. */
export const spread = <R>(what: (i: number) => Promise<R>, times = MANY): Promise<R[]> =>
  Promise.all(Array.from({ length: times }, (_, i) => what(i)))

/** The number of occurrences of each value, by its text. */
export function tally(values: readonly unknown[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const value of values) counts[String(value)] = (counts[String(value)] ?? 0) + 1
  return counts
}

/** HTTP Basic credentials of a client. */
export const basic = ({ client_id, client_secret }: { client_id: string; client_secret: string }) => ({
  authorization: `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}`,
})
