// `service serve`: both listeners up, warnings said, signals handled, everything drained at the end.

import type { Env } from '../config/env.ts'
import { loadConfig } from '../config/load.ts'
import { warningsOf } from '../config/notices.ts'
import type { Config } from '../config/schema.ts'
import type { App } from '../context.ts'
import type { HttpFront } from '../http/front.ts'
import { readBuild } from '../lib/build.ts'
import { effectiveDcrMode } from '../oauth/registration_mode.ts'
import { openTelemetry } from '../telemetry/open.ts'
import { type AppOptions, closeApp, openApp } from './assemble.ts'
import { openListeners } from './listeners.ts'
import { seed } from './seed.ts'

/** What `serve` does beside serving. */
export interface ServeOptions extends Pick<AppOptions, 'waits' | 'newKeys'> {
  /** Reads the capacity report that the configuration names. */
  readKnees?: ((config: Config) => Promise<AppOptions['knees']>) | undefined
  /** Called once it listens. */
  onReady?: ((app: App) => void) | undefined
}

/** Runs the service until SIGTERM or SIGINT. Rejects with ConfigError, or when a part cannot be had; resolves to the exit code. */
export async function serve(file: string | undefined, env: Env, options: ServeOptions = {}): Promise<number> {
  const { config, warnings } = loadConfig(file, env)
  const telemetry = await openTelemetry(config, readBuild(), env)
  const { log } = telemetry
  const { onReady, readKnees, ...how } = options
  const app = await openApp(config, log, { env, telemetry, knees: await readKnees?.(config), ...how })
  const fronts: HttpFront[] = []
  try {
    for (const say of [...warnings, ...warningsOf(config, await effectiveDcrMode(app))]) log.warn(say)
    await seed(app)
    app.metrics.addProcessMetrics()
    for await (const front of openListeners(app)) fronts.push(front)
    log.info(
      {
        ...app.build,
        issuer: config.server.issuer,
        address: config.server.address,
        engine: app.engines.public,
        admin: config.admin.enabled ? config.admin.address : false,
      },
      'ready',
    )
    onReady?.(app)
    void lookUpstream(app)
    const signal = await Promise.race([untilSignal(app), ...fronts.flatMap(({ failed }) => failed ?? [])])
    log.info({ signal }, 'shutting down')
    return 0
  } finally {
    app.lifecycle.draining = true
    const waitMs = config.server.shutdown_wait * 1000
    await Promise.all(fronts.map((front) => front.close(waitMs)))
    await closeApp(app)
    log.info('stopped')
    await telemetry.close()
  }
}

/** A provider that is not what the configuration says should be noticed before people do. It is looked for again when they come. */
async function lookUpstream({ oidc, log }: App): Promise<void> {
  await oidc?.find().catch((error: unknown) => {
    log.warn({ err: error }, 'the identity provider of oidc.issuer cannot be used now')
  })
}

/** Resolves with the first SIGTERM or SIGINT; a second one ends the process at once. SIGHUP reloads the keys. */
function untilSignal(app: App): Promise<string> {
  process.on('SIGHUP', () => void reloadKeys(app))
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
    log.error({ err: error }, 'the signing keys could not be reloaded; the ones before stay in use')
  }
  metrics.observe('core_key_reload_duration_seconds', (performance.now() - startedMs) / 1000)
}
