// Builds the App: every long-lived part of the service, once and in order.

import type { Env } from '../config/env.ts'
import type { Config } from '../config/schema.ts'
import type { App } from '../context.ts'
import { openAtRest } from '../crypto/at_rest.ts'
import type { AtRest } from '../crypto/encryption.ts'
import { firstKeyRules, type KeyRules } from '../crypto/first_key.ts'
import { type Keyring, openKeyring } from '../crypto/keyring.ts'
import { KnownTokens } from '../crypto/known_tokens.ts'
import { type CryptoLanes, openCrypto } from '../crypto/pool.ts'
import { createSealer } from '../crypto/seal.ts'
import { keyPlace, keySource } from '../crypto/sources.ts'
import { transitParts } from '../crypto/transit_client.ts'
import { Admission, loopBusyMs } from '../http/admission.ts'
import { checkListeners } from '../http/node.ts'
import { type Attempting, Lockout } from '../http/rate_limit.ts'
import { openRequestLog } from '../http/request_log.ts'
import { SharedBuckets } from '../http/shared_buckets.ts'
import { readBuild, userAgent } from '../lib/build.ts'
import { newSecret } from '../lib/id.ts'
import type { ReplayCache } from '../lib/replay_set.ts'
import { type Clock, systemClock } from '../lib/time.ts'
import { createFetcher, type FetcherOptions, loadHttpClient } from '../net/fetch.ts'
import { createRemoteKeys } from '../net/jwks.ts'
import { createPublicNames } from '../net/public_names.ts'
import { openDocuments } from '../oauth/cimd.ts'
import { openOidcProvider } from '../oauth/oidc_provider.ts'
import { openReplayCache } from '../oauth/single_use.ts'
import type { Store } from '../store/index.ts'
import { lockOfServer } from '../store/lock.ts'
import { openStore } from '../store/open.ts'
import { ActivityLog } from '../telemetry/client_activity.ts'
import { Headroom } from '../telemetry/headroom.ts'
import { allLanes, waitingIn } from '../telemetry/lanes.ts'
import type { Logger } from '../telemetry/logger.ts'
import { Metrics } from '../telemetry/metrics.ts'
import type { Telemetry } from '../telemetry/open.ts'
import { Series } from '../telemetry/series.ts'
import { followKeys } from './follow_keys.ts'
import { addGauges } from './gauges.ts'

/** Seconds between two fetches of one key set that tokens with unknown keys may cause. */
const UNKNOWN_KEY_COOLDOWN = 30

type Knees = Readonly<Record<string, number>>

export interface AppOptions {
  clock?: Clock
  /** Holds the keys whose variables the configuration names. */
  env?: Env
  /** What was opened before, where there is a server. */
  telemetry?: Pick<Telemetry, 'metrics' | 'tracer'>
  /** Whether this process serves (default): threads start at once, it has the lock of a SQLite file and counts as an instance. */
  serves?: boolean
  /** Whether a database and a signing key are made where there are none; as `serves` unless said otherwise. */
  creates?: boolean
  /** Makes keys even if live tokens were signed, or values sealed, with keys that are not there. */
  newKeys?: boolean
  /** Waits until no other server has the SQLite file. */
  waits?: boolean
  /** Requests a second that a benchmark measured, by kind of request. */
  knees?: Knees
  /** The busy timeout of SQLite, where it is not the usual one. */
  busyMs?: number
}

/** What differs between a process of its own and one of its front threads. */
export interface Parts {
  store: Store
  keyring: Keyring
  crypto: CryptoLanes
  lanes: App['lanes']
  atRest: AtRest | undefined
  sealing: string
  refreshSecret: string
  replays: ReplayCache
  lockout: Attempting
  activity: ActivityLog
  knees?: Knees
  /** The metrics of the process, where other threads count them together. */
  scrape?: App['scrape']
}

/** Migrates and opens the database, opens the keys, starts the threads. Rejects when any part cannot be had. */
export async function openApp(config: Config, log: Logger, options: AppOptions = {}): Promise<App> {
  const { clock = systemClock, env = {}, telemetry = { metrics: new Metrics() }, serves = true } = options
  const { creates = serves, newKeys = false } = options
  const store = await openStore(config.storage, {
    log,
    metrics: telemetry.metrics,
    now: clock.now(),
    creates,
    busyMs: options.busyMs,
    serves: serves ? { ...lockOfServer(config, log, options), check: () => checkListeners(config) } : undefined,
  })
  // The storage thread starts meanwhile.
  if (serves) await loadHttpClient()
  const mayMake = firstKeyRules(config, { store, clock, log }, { creates, newKeys })
  const { atRest, replays, keyring } = await begin(config, { store, env, clock, log, ...mayMake })
  // Front threads sign by themselves: what is left for this one is what an operator tries.
  const isHub = config.server.front_threads > 1
  const crypto = openCrypto({ threads: isHub ? 1 : config.server.crypto_threads, eager: serves && !isHub }, log)
  const { rate_limit } = config
  const app = assemble(
    config,
    log,
    { clock, env, telemetry },
    {
      store,
      keyring,
      crypto,
      lanes: {
        ...crypto.stats,
        ...(keyring.remote ? { transit: keyring.remote.lane } : {}),
        store: store.driver.stats,
      },
      atRest,
      sealing: config.session.secret || newSecret(),
      refreshSecret: await refreshSecretOf(config, store, clock),
      replays,
      lockout: new Lockout({
        max: rate_limit.auth_fail_max,
        window: rate_limit.auth_fail_window,
        lockout: rate_limit.auth_lockout,
      }),
      activity: new ActivityLog(),
      knees: options.knees,
    },
  )
  if (keyring.store !== 'keyfile') followKeys(app)
  addGauges(app)
  app.series.start()
  app.headroom.start()
  return app
}

/** Puts an app together from its parts. */
export function assemble(
  config: Config,
  log: Logger,
  { clock, env, telemetry }: Required<Pick<AppOptions, 'clock' | 'env' | 'telemetry'>>,
  parts: Parts,
): App {
  const { metrics, tracer } = telemetry
  const { crypto, store } = parts
  const { rate_limit, dcr, server } = config
  const allowPrivate = config.cimd.allow_private_addresses
  const openFetcher = (more: Partial<FetcherOptions> = {}) =>
    createFetcher({ allowPrivate, userAgent: userAgent(), ...more })
  const app: App = {
    ...parts,
    config,
    log,
    // Where there are front threads, the main thread is one more.
    requests: openRequestLog(log, server.front_threads > 1 ? server.front_threads + 1 : 1),
    metrics,
    tracer,
    clock,
    build: readBuild(),
    startedAt: clock.now(),
    env,
    sealer: createSealer(parts.sealing),
    successors: createSealer(parts.refreshSecret),
    fetcher: openFetcher({ resolve: createPublicNames({ readsHosts: allowPrivate }) }),
    brokerFetcher: openFetcher(),
    remoteKeys: createRemoteKeys({
      fetcher: openFetcher(),
      clock,
      ttl: config.xaa.jwks_cache_ttl,
      cooldown: UNKNOWN_KEY_COOLDOWN,
      allowHttp: config.cimd.allow_private_addresses,
    }),
    oidc: config.oidc.enabled
      ? openOidcProvider({
          config,
          fetcher: openFetcher({ allowPrivate: config.oidc.allow_private_addresses || allowPrivate }),
          crypto,
          clock,
          metrics,
        })
      : undefined,
    documents: openDocuments(store),
    registrations: rate_limit.enabled
      ? new SharedBuckets('register', dcr.rate_limit, dcr.rate_limit_burst, store)
      : undefined,
    knownTokens: new KnownTokens(),
    admission: new Admission(crypto.refusal, loopBusyMs, crypto.busyMs),
    series: new Series({ metrics, queues: () => waitingIn(allLanes(app)), clock }),
    headroom: new Headroom({ metrics, clock, knees: parts.knees ?? {} }),
    renewals: new Map(),
    engines: {},
    lifecycle: { draining: false },
    scrape:
      parts.scrape ??
      (async () => {
        await app.frontPool?.collect()
        return metrics.render()
      }),
  }
  return app
}

/** session.secret; without one (local use) a secret that the database keeps, because a retry must be answered after a restart too. */
const refreshSecretOf = async ({ session, oauth }: Config, store: Store, clock: Clock): Promise<string> =>
  session.secret ||
  (oauth.refresh_grace > 0
    ? store.keepSetting({ name: 'refresh_secret', value: newSecret(), now: clock.now() })
    : newSecret())

/** What a start writes and reads first. A store that fails here is closed, or it would keep the process alive. */
async function begin(
  config: Config,
  { env, log, ...parts }: KeyRules & Pick<App, 'store' | 'env' | 'clock' | 'log'>,
): Promise<Pick<App, 'atRest' | 'replays' | 'keyring'>> {
  const { store, clock } = parts
  const transit = transitParts(clock, log)
  let keyring: Keyring | undefined
  try {
    const onError = (error: unknown) =>
      log.warn({ err: error }, 'the signing keys could not be read; the ones before stay in use')
    const atRest = await openAtRest(config, env, { ...parts, transit })
    const source = keySource(config, { ...parts, transit, atRest })
    keyring = await openKeyring({ source, clock, onError, place: keyPlace(config) })
    await store.saveIssuer({ issuer: config.server.issuer, now: clock.now() })
    return { atRest, keyring, replays: await openReplayCache(store, clock) }
  } catch (error) {
    keyring?.close()
    await store.driver.close()
    throw error
  }
}

/** Ends the threads after what they still do. What a provider is answering just now is kept first: it may answer only once. */
export async function closeApp(app: App): Promise<void> {
  app.lifecycle.draining = true
  await Promise.allSettled([...app.renewals.values()].map(({ result }) => result))
  app.series.stop()
  app.headroom.stop()
  app.keyring.close()
  await Promise.all([app.store.driver.close(), app.crypto.close()])
}
