// The way to the servers that are measured: never to another machine.
import { isLoopbackHost } from '../../src/lib/url.ts'

const TIMEOUT_MS = 20_000

/** A URL of this machine. Throws for any other: load is a weapon elsewhere. */
export function loopbackUrl(text: string): URL {
  const url = new URL(text)
  if (!isLoopbackHost(url.hostname))
    throw new Error(`${url.hostname || 'a host without a name'} is another machine: only loopback is measured`)
  return url
}

/** An unmeasured request to a server on loopback. Rejects after twenty seconds; the error says who was asked, and why there was no answer. */
export async function callLoopback(text: string, init: RequestInit = {}): Promise<Response> {
  const url = loopbackUrl(text)
  try {
    return await fetch(url, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) })
  } catch (error) {
    // The query may hold what is nobody's business.
    throw new Error(`${url.origin}${url.pathname} does not answer: ${reasonOf(error as Error)}`, { cause: error })
  }
}

/** What is behind the `fetch failed` of fetch: of several addresses that were tried, only a code. */
function reasonOf({ message, cause }: Error): string {
  const { message: deeper, code } = (cause ?? {}) as NodeJS.ErrnoException
  return deeper || code || message
}
