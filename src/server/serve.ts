// `service serve`: opens both listeners, logs the warnings, handles signals, and drains everything at the end.
import { setTimeout as sleep } from 'node:timers/promises'

import type { Env } from '../config/env.ts'
import { issuerOf } from '../config/issuer.ts'
import { type LoadedConfig, loadConfig } from '../config/load.ts'
import { idleTimeoutWarnings, warningsOf } from '../config/notices.ts'
import type { Config } from '../config/schema.ts'
import type { App } from '../context.ts'
import type { HttpListener } from '../http/listener.ts'
import { readBuild } from '../lib/build.ts'
import { OAuthError } from '../lib/error.ts'
import { effectiveDcrMode } from '../oauth/clients/registration_mode.ts'
import { openTelemetry, type Telemetry } from '../telemetry/open.ts'
import { type AppOptions, closeApp, openApp } from './assemble.ts'
import { watchClock } from './clock_step.ts'
import { followReloads } from './follow_reload.ts'
import { openListeners } from './listeners.ts'
import { reloadConfig } from './reload.ts'
import { startRetention } from './retention.ts'
import { seed } from './seed.ts'

/** Hooks and options of `serve`. */
export interface ServeOptions extends Pick<AppOptions, 'waits' | 'newKeys'> {
  /** Reads the capacity report that the configuration names. */
  readKnees?: ((config: Config) => Promise<AppOptions['knees']>) | undefined
  /** Called once, when both listeners are open. */
  onReady?: ((app: App) => Promise<void>) | undefined
}

/** Runs the service until SIGTERM or SIGINT, and resolves with the exit code. Rejects with ConfigError, or when a part cannot be opened. */
export async function serve(file: string | undefined, env: Env, options: ServeOptions = {}): Promise<number> {
  const hangUps = noteHangUps()
  const loaded = loadConfig(file, env)
  const { config } = loaded
  const telemetry = await openTelemetry(config, readBuild(), env)
  try {
    return await serveUntilSignal({ ...loaded, telemetry, hangUps }, file, env, options)
  } catch (error) {
    telemetry.log.error({ err: error }, 'the service ends because of an error')
    throw error
  } finally {
    await telemetry.close()
  }
}

interface Loaded extends LoadedConfig {
  telemetry: Telemetry
  hangUps: HangUps
}

async function serveUntilSignal(
  { config, warnings, given, telemetry, hangUps }: Loaded,
  file: string | undefined,
  env: Env,
  { onReady, readKnees, ...how }: ServeOptions,
): Promise<number> {
  const { log } = telemetry
  const app = await openApp(config, log, { env, telemetry, knees: await readKnees?.(config), ...how })
  const listeners: HttpListener[] = []
  let retention: ReturnType<typeof startRetention> | undefined
  const unwatchClock = watchClock(log)
  try {
    const reload = () => reloadConfig(app, file, env)
    app.reload = await followReloads(app, reload)
    for (const warning of [...warnings, ...warningsOf(config, await effectiveDcrMode(app))]) log.warn(warning)
    await seed(app)
    app.metrics.addProcessMetrics()
    for await (const listener of openListeners(app)) listeners.push(listener)
    for (const warning of idleTimeoutWarnings(config, given, isNative(app))) log.warn(warning)
    log.info(
      {
        ...app.build,
        issuer: issuerOf(config),
        address: config.server.address,
        engine: app.engines.public,
        admin: config.admin.enabled ? config.admin.address : false,
      },
      'ready',
    )
    await onReady?.(app)
    void warnOfDatabase(app)
    retention = startRetention(app)
    void discoverUpstream(app)
    const signal = await Promise.race([
      untilSignal(app, hangUps, reload),
      ...listeners.flatMap(({ failed }) => failed ?? []),
    ])
    log.info({ signal, drain_wait: drainSeconds(config) }, 'shutting down')
    await drain(app, listeners)
    return 0
  } finally {
    app.lifecycle.draining = true
    const waitMs = config.server.shutdown_wait * 1000
    await Promise.all(listeners.map((listener) => listener.close(waitMs)))
    await retention?.stop()
    unwatchClock()
    await closeApp(app)
    log.info('stopped')
  }
}

/** Whether the public listener runs on uWebSockets.js. */
const isNative = ({ engines }: App): boolean => engines.public?.startsWith('uWebSockets.js') === true

/** Seconds in which an instance that ends still answers, because a proxy in front sends requests until it sees /ready. */
const drainSeconds = ({ server }: Config): number =>
  server.drain_wait === 'auto' ? (server.trusted_proxies.length > 0 ? DRAIN_SECONDS : 0) : server.drain_wait
const DRAIN_SECONDS = 5

async function drain({ lifecycle, config }: App, listeners: readonly HttpListener[]): Promise<void> {
  lifecycle.draining = true
  await Promise.all(listeners.map((listener) => listener.drain?.()))
  await sleep(drainSeconds(config) * 1000)
}

/** Fetches the metadata of every provider, so that a wrong issuer shows in the log before the first sign-in. A sign-in retries it. */
async function discoverUpstream({ oidc, log }: App): Promise<void> {
  for (const { slug, look } of oidc)
    await look().catch((error: unknown) => {
      const about = error instanceof OAuthError ? error.more.about : {}
      log.warn(
        { err: error, provider: slug, ...about },
        'the identity provider cannot be used: its metadata or keys could not be fetched or are not valid; the next sign-in fetches them again',
      )
    })
}

/** Resolves with the first SIGTERM or SIGINT; a second one ends the process at once. SIGHUP reloads keys and configuration. */
function untilSignal(app: App, hangUps: HangUps, reload: () => Promise<unknown>): Promise<string> {
  hangUps.answer(() => {
    void reloadKeys(app)
    // The failure is logged already.
    reload().catch(() => {})
  })
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve(signal))
  })
}

interface HangUps {
  /** Calls the function at every SIGHUP, and now if there was one before. */
  answer(reload: () => void): void
}

/** Notes SIGHUP from now on. Without a handler it would end a process that still starts. */
function noteHangUps(): HangUps {
  let isNoted = false
  let reload = () => {
    isNoted = true
  }
  process.on('SIGHUP', () => reload())
  return {
    answer(given) {
      reload = given
      if (isNoted) given()
    },
  }
}

async function reloadKeys({ keyring, log, metrics }: App): Promise<void> {
  const startedMs = performance.now()
  try {
    await keyring.reload()
    log.info({ kid: keyring.current().kid }, 'signing keys reloaded')
  } catch (error) {
    log.error({ err: error }, 'the signing keys could not be reloaded; the previous keys stay in use')
  }
  metrics.observe('core_key_reload_duration_seconds', (performance.now() - startedMs) / 1000)
}

/** Warns once of settings that the PostgreSQL server shows to be wrong. */
async function warnOfDatabase({ config, log }: App): Promise<void> {
  if (config.storage.driver !== 'postgres') return
  const { adviceOn } = await import('../store/postgres/advice.ts')
  // A server that cannot be reached is reported by the storage.
  const advice = await adviceOn(config.storage.postgres).catch(() => [])
  for (const { key, because, instead } of advice) log.warn(`${key}: ${because}; use ${instead}`)
}
