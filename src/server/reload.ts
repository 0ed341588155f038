// Reloads of the configuration: SIGHUP and `POST /admin/system/config/reload`.
import type { Env } from '../config/env.ts'
import { valueAt } from '../config/key.ts'
import { loadConfig, redacted } from '../config/load.ts'
import { applyLive, type Reloaded } from '../config/reload.ts'
import type { Config } from '../config/schema.ts'
import type { App } from '../context.ts'

/** Applies the live keys of a configuration to this thread. */
export function takeLive({ config, log, prepared }: App, next: Config): Reloaded {
  const reloaded = applyLive(config, next)
  prepared.clear()
  // A log that is off (level silent) is not switched on by a reload.
  if (log.level !== 'silent') log.level = config.observability.logging.level
  return reloaded
}

/** Reads file and environment again and applies the live keys in every thread. Logs the result. Rejects with ConfigError, and changes nothing. */
export async function reloadConfig(app: App, file: string | undefined, env: Env): Promise<Reloaded> {
  try {
    const reloaded = takeLive(app, loadConfig(file, env).config)
    await app.frontPool?.configure()
    app.log.info({ ...reloaded }, 'configuration reloaded')
    const now = redacted(app.config)
    for (const key of reloaded.applied)
      app.log.debug({ key, value: valueAt(now, key.split('.')) }, 'configuration key applied')
    return reloaded
  } catch (error) {
    app.log.error({ err: error }, 'the configuration could not be reloaded; the previous one stays in use')
    throw error
  }
}
