// The cache of the keys that clients publish (jwks_uri). A client that registers itself can name any host, so the fetches of each host are
// limited as for client documents.
import type { Config } from '../config/schema.ts'
import type { Documents } from '../context.ts'
import { OAuthError } from '../lib/error.ts'
import type { Clock } from '../lib/time.ts'
import type { Fetcher } from '../net/fetcher.ts'
import { createRemoteKeys, type RemoteKeys } from '../net/jwks.ts'
import { MAX_KEYS } from './client_keys.ts'

/** A key set takes at most 100 KB of memory, and usually 1 KB. */
const MAX_SETS = 2000
/** Minimum seconds between two fetches of one set because of unknown keys: at most two a minute. */
const COOLDOWN = 30

interface Parts {
  fetcher: Fetcher
  clock: Clock
  /** Limits the fetches of each host. */
  hosts: Documents['hosts']
}

/** Opens the cache. Identity providers have a cache of their own, so that unknown clients cannot evict their keys. */
export const openClientKeys = ({ cimd }: Config, { fetcher, clock, hosts }: Parts): RemoteKeys =>
  createRemoteKeys({
    fetcher: limited(fetcher, hosts),
    clock,
    ttl: cimd.cache_ttl,
    cooldown: COOLDOWN,
    allowHttp: cimd.allow_private_addresses,
    maxSets: MAX_SETS,
    maxKeys: MAX_KEYS,
  })

const limited = (fetcher: Fetcher, hosts: Documents['hosts']): Fetcher => ({
  fetch: (url, request) => takeTurn(hosts, url).then(() => fetcher.fetch(url, request)),
})

async function takeTurn(hosts: Documents['hosts'], url: string): Promise<void> {
  const wait = await hosts.take(new URL(url).hostname)
  if (wait > 0)
    throw new OAuthError('slow_down', 'too many key sets of this host', {
      reason: 'jwks_host_rate',
      headers: { 'retry-after': String(wait) },
    })
}
