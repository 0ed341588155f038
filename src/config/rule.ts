// The kit that rules between configuration keys are declared with.
import { isLocalhost } from '../lib/url.ts'
import type { Env } from './env.ts'
import type { Config } from './schema.ts'

export interface Rule {
  keys: readonly string[]
  bad(config: Config, env: Env): boolean
  say: string
}

/** The service is meant for others than this machine: what is only good for development is refused. */
export const isProduction = (config: Config): boolean => !isLocalhost(config.server.issuer)
