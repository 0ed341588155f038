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

const WEAK_SECRETS = /^(changeme|change-me|secret|password|admin|test|default|example)/i
/** Whether a secret was not generated at random: even 16 random hex digits have fewer than 5 different ones only once in two million times. */
export const isWeak = (secret: string) => secret !== '' && (WEAK_SECRETS.test(secret) || new Set(secret).size < 5)
