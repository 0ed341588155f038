// Types and helpers for rules between configuration keys.
import { isLocalhost } from '../lib/url.ts'
import type { Env } from './env.ts'
import type { Config } from './schema.ts'

export interface Rule {
  keys: readonly string[]
  bad(config: Config, env: Env): boolean
  message: string
  /** The environment variable that a key names. The message of the problem then names it too. */
  variable?(config: Config): string
}

/** Whether the issuer is not this machine. Then settings that are only for development are refused. */
export const isProduction = (config: Config): boolean => !isLocalhost(config.server.issuer)
