// The way to the servers that are measured: never to another machine.
import { isLoopbackHost } from '../lib/url.ts'

const TIMEOUT_MS = 20_000

/** A URL of this machine. Throws for any other: load is a weapon elsewhere. */
export function loopbackUrl(text: string): URL {
  const url = new URL(text)
  if (!isLoopbackHost(url.hostname)) throw new Error(`${url.host} is another machine: only loopback is measured`)
  return url
}

/** An unmeasured request to a server on loopback. Rejects after twenty seconds. */
export const call = (url: string, init: RequestInit = {}): Promise<Response> =>
  fetch(loopbackUrl(url), { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) })
