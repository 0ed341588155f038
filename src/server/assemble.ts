// Builds the App: every long-lived part of the service, once and in order.
import type { Env } from '../config/env.ts'
import { issuerOf } from '../config/issuer.ts'
import type { Config } from '../config/schema.ts'
import { type SessionSecrets, sessionSecrets } from '../config/session_secrets.ts'
import type { App, Branding } from '../context.ts'
import { openAtRest } from '../crypto/at_rest.ts'
import type { AtRest } from '../crypto/encryption.ts'
import { firstKeyRules, type KeyRules } from '../crypto/first_key.ts'
import { type Keyring, openKeyring } from '../crypto/keyring.ts'
import { KnownTokens } from '../crypto/known_tokens.ts'
import { type CryptoLanes, openCrypto } from '../crypto/pool.ts'
import { createSealer } from '../crypto/seal.ts'
import { keyPlace, keySource } from '../crypto/sources.ts'
import { transitParts } from '../crypto/transit/client.ts'
import { openBranding, readPageFiles } from '../endpoints/pages/branding.ts'
import { startSender } from '../events/sender.ts'
import { Admission, loopBusyMs } from '../http/admission.ts'
import type { ClientLimiter } from '../http/client_limiter.ts'
import { LimitShare } from '../http/limit_share.ts'
import { checkListeners } from '../http/node.ts'
import { AttemptsInProgress, type LoginAttempts } from '../http/rate_limit.ts'
import { openRequestLog } from '../http/request_log.ts'
import { WaitingRoom } from '../http/waiting_room.ts'
import { readBuild } from '../lib/build.ts'
import { newSecret } from '../lib/id.ts'
import type { ReplayCache } from '../lib/replay_set.ts'
import { SingleFlight } from '../lib/threads/single_flight.ts'
import { type Clock, systemClock } from '../lib/time.ts'
import { PeerCertificates } from '../net/certificates.ts'
import { loadHttpClient } from '../net/connection.ts'
import { openClientKeys } from '../oauth/clients/client_key_cache.ts'
import { openDocuments } from '../oauth/clients/document_cache.ts'
import { openRegistrationLimit } from '../oauth/clients/registration_mode.ts'
import { openOidcProviders } from '../oauth/federation/oidc_providers.ts'
import { openAuditedRefusals } from '../oauth/refusal_limit.ts'
import { openDeviceCodeLimit, openUserCodeLimit } from '../oauth/sign_in/device.ts'
import { findPasswordKinds } from '../oauth/sign_in/password_kinds.ts'
import { openPendingRooms } from '../oauth/sign_in/pending_value.ts'
import { withAdminResource } from '../oauth/tokens/admin_resource.ts'
import { DetailsSchemas } from '../oauth/tokens/details_schemas.ts'
import { openPrepared } from '../oauth/tokens/prepared.ts'
import { openReplayCache } from '../oauth/tokens/single_use.ts'
import type { Store } from '../store/index.ts'
import { lockOfServer } from '../store/lock.ts'
import { openStore } from '../store/open.ts'
import { ActivitySums } from '../telemetry/activity_sums.ts'
import { ActivityLog } from '../telemetry/client_activity.ts'
import { FailureLog } from '../telemetry/client_failures.ts'
import { Headroom } from '../telemetry/headroom.ts'
import { allLanes, waitingIn } from '../telemetry/lanes.ts'
import type { Logger } from '../telemetry/logger.ts'
import { Metrics, stagesIn } from '../telemetry/metrics.ts'
import type { Telemetry } from '../telemetry/open.ts'
import { Series } from '../telemetry/series.ts'
import { openClientLimiter } from './client_limiter.ts'
import { followKeys } from './follow_keys.ts'
import { addGauges } from './gauges.ts'
import { startHistory } from './history.ts'
import { aboutInstance } from './instance.ts'
import { openFetchers, openIssuerMetadata, openRemoteKeys } from './outbound.ts'
import { requestRate } from './request_limit.ts'
import { tracedCrypto } from './traced.ts'
import { answerProbes } from './waiting.ts'

type Knees = Readonly<Record<string, number>>

export interface AppOptions {
  clock?: Clock
  /** The environment: the configuration names variables that hold keys. */
  env?: Env
  /** The telemetry of a server. By default metrics are counted, but not exported. */
  telemetry?: Pick<Telemetry, 'metrics' | 'tracer'>
  /** Whether this process serves (default). A server starts its threads at once, locks its SQLite file and counts as an instance. */
  serves?: boolean
  /** Whether a missing database and a missing signing key are created. Default: the value of `serves`. */
  creates?: boolean
  /** Creates keys even when live tokens were signed, or values encrypted, with keys that are missing. */
  newKeys?: boolean
  /** Waits until no other server has locked the SQLite file. */
  waits?: boolean
  /** Maximum requests per second that a benchmark measured, by kind of request. */
  knees?: Knees
  /** The busy timeout of SQLite in milliseconds; tests set it small. */
  busyMs?: number
  /** Opens the signing and password threads. By default each App has its own; tests share them. */
  openCrypto?: typeof openCrypto
}

type Settings = AppOptions &
  Required<Pick<AppOptions, 'clock' | 'env' | 'telemetry' | 'serves' | 'creates' | 'newKeys'>>

/** The parts that a front thread opens differently from a process. */
export interface Parts {
  branding: Branding
  store: Store
  keyring: Keyring
  crypto: CryptoLanes
  lanes: App['lanes']
  atRest: AtRest | undefined
  sealing: SessionSecrets
  refreshSecrets: SessionSecrets
  replays: ReplayCache
  loginAttempts: LoginAttempts
  clientLimiter: ClientLimiter
  clientShare: LimitShare
  activity: ActivityLog
  knees?: Knees
  /** Returns the metrics of the whole process; the metrics of this thread when it is absent. */
  scrape?: App['scrape']
}

/** Opens every part: migrates and opens the database, opens the keys, starts the threads. Rejects when any part cannot be opened. */
export async function openApp(config: Config, log: Logger, options: AppOptions = {}): Promise<App> {
  const { clock = systemClock, env = {}, telemetry = { metrics: new Metrics() }, serves = true } = options
  const { creates = serves, newKeys = false } = options
  const settings = { ...options, clock, env, telemetry, serves, creates, newKeys }
  const app = assemble(config, log, settings, await openParts(config, log, settings))
  if (app.keyring.store !== 'keyfile') followKeys(app)
  addGauges(app)
  if (serves) Object.assign(app, { stopEvents: startSender(app), stopHistory: startHistory(app) })
  app.series.start()
  app.headroom.start()
  return app
}

async function openParts(config: Config, log: Logger, settings: Settings): Promise<Parts> {
  const { clock, env, serves, creates, newKeys, knees } = settings
  const branding = openBranding(config, serves ? readPageFiles(config) : {})
  const store = await openDatabase(config, log, settings)
  // The storage thread starts meanwhile.
  if (serves) loadHttpClient()
  const mayCreate = firstKeyRules(config, { store, clock, log }, { creates, newKeys })
  const { keyring, ...begun } = await begin(config, { store, env, clock, log, serves, ...mayCreate })
  const crypto = openCryptoPool(config, log, settings)
  return {
    branding,
    store,
    keyring,
    crypto,
    lanes: { ...crypto.stats, ...(keyring.remote ? { transit: keyring.remote.lane } : {}), store: store.driver.stats },
    ...begun,
    sealing: sessionSecrets(config) ?? [newSecret()],
    loginAttempts: new AttemptsInProgress(),
    clientShare: new LimitShare(requestRate(config)),
    activity: new ActivityLog(),
    knees,
  }
}

const openDatabase = async (config: Config, log: Logger, settings: Settings): Promise<Store> =>
  withAdminResource(
    config,
    await openStore(config.storage, {
      log,
      metrics: settings.telemetry.metrics,
      now: settings.clock.now(),
      creates: settings.creates,
      busyMs: settings.busyMs,
      serves: settings.serves
        ? {
            ...lockOfServer(config, log, settings),
            check: () => checkListeners(config),
            onAway: () => answerProbes(config, log),
            about: aboutInstance(config, settings.env, settings.clock.now()),
          }
        : undefined,
    }),
  )

/** Front threads have signing threads of their own. The supervisor then signs only what the admin API requests. */
function openCryptoPool({ server }: Config, log: Logger, settings: Settings): CryptoLanes {
  const open = settings.openCrypto ?? openCrypto
  const isSupervisor = server.front_threads > 1
  return open({ threads: isSupervisor ? 1 : server.crypto_threads, onStage: stagesIn(settings.telemetry.metrics) }, log)
}

/** The session secrets. Without them (local use), a secret that is stored in the database, because a retried refresh must also be answered after a restart. */
async function refreshSecretsOf(config: Config, store: Store, clock: Clock): Promise<SessionSecrets> {
  const configured = sessionSecrets(config)
  if (configured) return configured
  if (config.oauth.refresh_grace === 0) return [newSecret()]
  return [await store.keepSetting({ name: 'refresh_secret', value: newSecret(), now: clock.now() })]
}

/** Opens the keys and makes the reads that are needed before the first request. Closes the store when that fails, because an open store keeps the process alive. */
async function begin(
  config: Config,
  { env, log, serves, ...parts }: KeyRules & Pick<App, 'store' | 'env' | 'clock' | 'log'> & { serves: boolean },
): Promise<Pick<Parts, 'atRest' | 'replays' | 'keyring' | 'refreshSecrets' | 'clientLimiter'>> {
  const { store, clock } = parts
  const transit = transitParts(clock, log)
  let keyring: Keyring | undefined
  try {
    const onError = (error: unknown) =>
      log.warn({ err: error }, 'the signing keys could not be reloaded; the previous keys stay in use')
    const atRest = await openAtRest(config, env, { ...parts, transit })
    const source = keySource(config, { ...parts, transit, atRest })
    keyring = await openKeyring({ source, clock, onError, place: keyPlace(config) })
    await store.saveIssuer({ issuer: issuerOf(config), now: clock.now() })
    if (serves) await findPasswordKinds({ store, clock })
    const replays = await openReplayCache(store, clock)
    const refreshSecrets = await refreshSecretsOf(config, store, clock)
    const clientLimiter = await openClientLimiter({ store, clock, log }, serves)
    return { atRest, keyring, replays, refreshSecrets, clientLimiter }
  } catch (error) {
    keyring?.close()
    await store.driver.close()
    throw error
  }
}

/** Assembles an app from its parts. */
export function assemble(
  config: Config,
  log: Logger,
  { clock, env, telemetry }: Required<Pick<AppOptions, 'clock' | 'env' | 'telemetry'>>,
  parts: Parts,
): App {
  const { metrics, tracer } = telemetry
  const { store } = parts
  const crypto = tracer ? tracedCrypto(parts.crypto) : parts.crypto
  const certificates = new PeerCertificates()
  const { clients, broker, keys, events, pings } = openFetchers(config, tracer !== undefined, certificates)
  const documents = openDocuments(store)
  const sums = new ActivitySums()
  const app: App = {
    ...parts,
    crypto,
    config,
    log,
    requests: openRequestLog(log, listeningThreads(config)),
    metrics,
    tracer,
    clock,
    build: readBuild(),
    startedAt: clock.now(),
    env,
    sealer: createSealer(parts.sealing),
    successors: createSealer(parts.refreshSecrets),
    certificates,
    fetchers: clients,
    brokerFetcher: broker,
    eventFetcher: events,
    pingFetcher: pings,
    pings: new Set(),
    remoteKeys: openRemoteKeys(config, keys, clock),
    issuerMetadata: openIssuerMetadata(config, keys, clock),
    clientKeys: openClientKeys(config, { fetchers: clients, clock, hosts: documents.hosts }),
    auditedRefusals: openAuditedRefusals(),
    waitingRoom: new WaitingRoom(),
    oidc: openOidcProviders(config, { clock, metrics, certificates }),
    documents,
    registrations: openRegistrationLimit(config, store),
    deviceCodes: openDeviceCodeLimit(store),
    userCodes: openUserCodeLimit(store),
    ...openPendingRooms(store),
    knownTokens: new KnownTokens(),
    prepared: openPrepared(),
    details: new DetailsSchemas(),
    admission: new Admission(crypto.refusal, loopBusyMs, crypto.busyMs),
    sums,
    failures: new FailureLog(),
    series: new Series({ metrics, queues: () => waitingIn(allLanes(app)), clock, onPeriod: (sum) => sums.add(sum) }),
    headroom: new Headroom({ metrics, clock, knees: parts.knees ?? {} }),
    renewals: new SingleFlight(),
    engines: {},
    lifecycle: { draining: false },
    scrape: parts.scrape ?? (() => collectAndRender(app)),
  }
  return app
}

/** The threads that write request lines: the front threads, and the main thread for the admin listener. */
const listeningThreads = ({ server }: Config): number => (server.front_threads > 1 ? server.front_threads + 1 : 1)

async function collectAndRender({ frontPool, metrics }: App): ReturnType<App['scrape']> {
  await frontPool?.collect()
  return metrics.render()
}

/** Closes the parts when their work in progress is done. Token renewals are awaited first, because a provider may return a refresh token only once. */
export async function closeApp(app: App): Promise<void> {
  app.lifecycle.draining = true
  app.waitingRoom.close()
  await app.renewals.settled()
  await app.stopEvents?.()
  app.series.stop()
  await app.stopHistory?.()
  app.headroom.stop()
  app.keyring.close()
  await app.clientLimiter.close()
  await Promise.all([app.store.driver.close(), app.crypto.close()])
}
