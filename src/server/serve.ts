// `service serve`: opens both listeners, logs the warnings, handles signals, and drains everything at the end.

import type { Env } from '../config/env.ts'
import { issuerOf } from '../config/issuer.ts'
import { type LoadedConfig, loadConfig } from '../config/load.ts'
import { warningsOf } from '../config/notices.ts'
import type { Config } from '../config/schema.ts'
import type { App } from '../context.ts'
import type { HttpFront } from '../http/front.ts'
import { readBuild } from '../lib/build.ts'
import { OAuthError } from '../lib/error.ts'
import { effectiveDcrMode } from '../oauth/registration_mode.ts'
import { openTelemetry, type Telemetry } from '../telemetry/open.ts'
import { type AppOptions, closeApp, openApp } from './assemble.ts'
import { openListeners } from './listeners.ts'
import { reloadConfig } from './reload.ts'
import { type RetentionTimer, startRetention } from './retention.ts'
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
  const { config, warnings } = loadConfig(file, env)
  const telemetry = await openTelemetry(config, readBuild(), env)
  try {
    return await serveUntilSignal({ config, warnings, telemetry }, file, env, options)
  } catch (error) {
    telemetry.log.error({ err: error }, 'the service ends because of an error')
    throw error
  } finally {
    await telemetry.close()
  }
}

interface Loaded extends LoadedConfig {
  telemetry: Telemetry
}

async function serveUntilSignal(
  { config, warnings, telemetry }: Loaded,
  file: string | undefined,
  env: Env,
  { onReady, readKnees, ...how }: ServeOptions,
): Promise<number> {
  const { log } = telemetry
  const app = await openApp(config, log, { env, telemetry, knees: await readKnees?.(config), ...how })
  const fronts: HttpFront[] = []
  let retention: RetentionTimer | undefined
  try {
    app.reload = () => reloadConfig(app, file, env)
    for (const warning of [...warnings, ...warningsOf(config, await effectiveDcrMode(app))]) log.warn(warning)
    await seed(app)
    app.metrics.addProcessMetrics()
    for await (const front of openListeners(app)) fronts.push(front)
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
    retention = startRetention(app)
    void discoverUpstream(app)
    const signal = await Promise.race([untilSignal(app), ...fronts.flatMap(({ failed }) => failed ?? [])])
    log.info({ signal }, 'shutting down')
    return 0
  } finally {
    app.lifecycle.draining = true
    const waitMs = config.server.shutdown_wait * 1000
    await Promise.all(fronts.map((front) => front.close(waitMs)))
    await retention?.stop()
    await closeApp(app)
    log.info('stopped')
  }
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
function untilSignal(app: App): Promise<string> {
  process.on('SIGHUP', () => {
    void reloadKeys(app)
    // The failure is logged already.
    app.reload?.().catch(() => {})
  })
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve(signal))
  })
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
