// The fetchers of the App, and the parts that read documents of other servers with them.
import type { Config } from '../config/schema.ts'
import { openEventFetcher } from '../events/delivery.ts'
import { receiverRules } from '../events/receiver_url.ts'
import { userAgent } from '../lib/build.ts'
import type { Clock } from '../lib/time.ts'
import { addressRules } from '../net/address_rules.ts'
import type { PeerCertificates } from '../net/certificates.ts'
import { createFetcher, openFetcher } from '../net/fetch.ts'
import type { Fetcher } from '../net/fetcher.ts'
import { createIssuerMetadata, type IssuerMetadata } from '../net/issuer_metadata.ts'
import { createRemoteKeys, type RemoteKeys } from '../net/jwks.ts'
import { createPublicNames } from '../net/public_names.ts'
import { forEachStanding } from '../net/standing.ts'
import { tracedFetcher } from './traced.ts'

/** Minimum seconds between two fetches of one key set caused by tokens with unknown keys. */
const UNKNOWN_KEY_COOLDOWN = 30

/**
 * One fetcher for each kind of host, so that slow hosts of one kind cannot delay requests to another. Only the providers of broker
 * resources receive trace ids: hosts that callers name must not learn them. `certificates` takes the ends of the certificates of providers.
 */
export function openFetchers(config: Config, traces: boolean, certificates: PeerCertificates) {
  const { allow_private_addresses } = config.cimd
  const ofClients = addressRules(config, 'cimd')
  const readsHosts = (hostname: string) => allow_private_addresses || (ofClients.hosts?.names(hostname) ?? false)
  const clients = forEachStanding(() => {
    const resolve = createPublicNames({ readsHosts })
    const fetcher = createFetcher({ ...ofClients, userAgent: userAgent(), resolve })
    return traces ? tracedFetcher(fetcher) : fetcher
  })
  const broker = openFetcher(config, 'connect', certificates)
  return {
    clients,
    broker: traces ? tracedFetcher(broker, ({ traceparent }) => ({ traceparent })) : broker,
    keys: openFetcher(config, 'xaa', certificates),
    events: openEventFetcher(config),
    pings: createFetcher({ ...receiverRules(config, 'ciba'), userAgent: userAgent() }),
  }
}

/** The key sets of identity providers and workload issuers. */
export const openRemoteKeys = ({ xaa, cimd }: Config, fetcher: Fetcher, clock: Clock): RemoteKeys =>
  createRemoteKeys({
    fetcher,
    clock,
    ttl: xaa.jwks_cache_ttl,
    cooldown: UNKNOWN_KEY_COOLDOWN,
    allowHttp: cimd.allow_private_addresses,
  })

/** The discovery documents of workload issuers. */
export const openIssuerMetadata = ({ xaa, cimd }: Config, fetcher: Fetcher, clock: Clock): IssuerMetadata =>
  createIssuerMetadata({ fetcher, clock, ttl: xaa.jwks_cache_ttl, allowHttp: cimd.allow_private_addresses })
