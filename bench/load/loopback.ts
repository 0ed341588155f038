// Requests to measured servers, which must be on loopback.
import { Agent, fetch, type RequestInit, type Response } from 'undici'
import { isLoopbackHost } from '../../src/lib/url.ts'

const TIMEOUT_MS = 20_000

// A connection a request. The calibration occupies this thread for seconds: a connection kept from before it may have been closed
// by the server without this thread having read that, and the next request on it would fail.
const dispatcher = new Agent({ pipelining: 0 })

/** Parses a loopback URL. Throws for any other host: load on another machine would be an attack. */
export function loopbackUrl(text: string): URL {
  const url = new URL(text)
  if (!isLoopbackHost(url.hostname))
    throw new Error(`${url.hostname || 'a host without a name'} is another machine: only loopback is measured`)
  return url
}

/** Sends an unmeasured request to a server on loopback. Rejects after twenty seconds. The error names the URL and the cause. */
export async function callLoopback(text: string, init: RequestInit = {}): Promise<Response> {
  const url = loopbackUrl(text)
  try {
    return await fetch(url, { ...init, dispatcher, signal: AbortSignal.timeout(TIMEOUT_MS) })
  } catch (error) {
    // Without the query, which may contain secrets.
    throw new Error(`${url.origin}${url.pathname} does not answer: ${reasonOf(error as Error)}`, { cause: error })
  }
}

/** The cause of `fetch failed`. When several addresses were tried, only a code is known. */
function reasonOf({ message, cause }: Error): string {
  const { message: deeper, code } = (cause ?? {}) as NodeJS.ErrnoException
  return deeper || code || message
}
