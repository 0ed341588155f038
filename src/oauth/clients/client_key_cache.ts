// The caches of the keys that clients publish (jwks_uri), one for each standing. A client that registers itself can name any host, so the fetches
// of each host are limited as for client documents. The key set of a client that is in use has a limit of its own.
import type { Config } from '../../config/schema.ts'
import type { Documents } from '../../context.ts'
import { checkWait } from '../../lib/error.ts'
import { digest } from '../../lib/id.ts'
import { MB } from '../../lib/memory.ts'
import type { Clock } from '../../lib/time.ts'
import type { Fetcher } from '../../net/fetcher.ts'
import { createRemoteKeys, type RemoteKeys } from '../../net/jwks.ts'
import { forEachStanding, type Standing } from '../../net/standing.ts'
import { MAX_KEYS } from './client_keys.ts'

/** A key set takes at most 100 KB of memory, and usually 1 KB. */
const [MAX_SETS, MAX_BYTES] = [2000, 8 * MB]
/** Minimum seconds between two fetches of one set because of unknown keys: at most two a minute. */
const COOLDOWN = 30

interface Parts {
  fetchers: Readonly<Record<Standing, Fetcher>>
  clock: Clock
  /** Limits the fetches of each host. */
  hosts: Documents['hosts']
}

/** Opens the caches. Identity providers have a cache of their own. */
export const openClientKeys = (
  { cimd }: Config,
  { fetchers, clock, hosts }: Parts,
): Readonly<Record<Standing, RemoteKeys>> =>
  forEachStanding((standing) =>
    createRemoteKeys({
      fetcher: limited(fetchers[standing], hosts, standing),
      clock,
      ttl: cimd.cache_ttl,
      cooldown: COOLDOWN,
      allowHttp: cimd.allow_private_addresses,
      maxSets: MAX_SETS,
      maxBytes: MAX_BYTES,
      maxKeys: MAX_KEYS,
    }),
  )

const limited = (fetcher: Fetcher, hosts: Documents['hosts'], standing: Standing): Fetcher => ({
  fetch: (url, request) => takeTurn(hosts, url, standing).then(() => fetcher.fetch(url, request)),
})

async function takeTurn(hosts: Documents['hosts'], url: string, standing: Standing): Promise<void> {
  const isInUse = standing === 'operator' || standing === 'consented'
  const wait = await hosts.take(isInUse ? digest(url) : new URL(url).hostname)
  checkWait(wait, 'too many key sets of this host', 'jwks_host_rate')
}
