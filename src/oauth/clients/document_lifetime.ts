// How long the copy of a client document may be used, by its cache headers (RFC 9111).
import CachePolicy from 'http-cache-semantics'
import type { App } from '../../context.ts'
import type { FetchReply } from '../../net/fetcher.ts'

const FLOOR_SECONDS = 60

/** Seconds that the document may be used: as its headers allow, at least a minute unless it must not be cached, and at most cimd.cache_ttl. */
export function documentLifetime(app: App, url: string, { status, headers }: FetchReply): number {
  const ceiling = app.config.cimd.cache_ttl
  // The names of directives are case-insensitive (RFC 9111 §5.2), but the library only knows them in lower case.
  const control = headers['cache-control']?.toLowerCase()
  const saysHowLong = /\b(no-store|no-cache|max-age)\b/.test(control ?? '') || headers.expires !== undefined
  if (!saysHowLong) return ceiling
  const policy = new CachePolicy(
    { url, method: 'GET', headers: {} },
    { status, headers: { ...headers, 'cache-control': control } },
    { shared: false },
  )
  // timeToLive() would include the time in which a stale copy may be used.
  const seconds = policy.maxAge() - policy.age()
  return seconds <= 0 ? 0 : Math.min(Math.max(seconds, FLOOR_SECONDS), ceiling)
}
