// Types and helpers for rules between configuration keys.
import { isLocalhost } from '../lib/url.ts'
import type { Env } from './env.ts'
import { valueAt } from './key.ts'
import type { Config } from './schema.ts'

export interface Rule {
  keys: readonly string[]
  bad(config: Config, env: Env): boolean
  message: string
  /** The environment variable that a key names. The message of the problem then names it too. */
  variable?(config: Config): string
}

/** A rule for one key, or for several together. */
export const rule = (
  keys: string | readonly string[],
  message: string,
  bad: Rule['bad'],
  variable?: Rule['variable'],
): Rule => ({ keys: [keys].flat(), message, bad, variable })

/** A key that must have a value under a condition, which its message names. */
export const required = (key: string, condition: string, isNeeded: (config: Config) => boolean): Rule =>
  rule(key, `is required ${condition}`.trimEnd(), (c) => isNeeded(c) && !valueAt(c, key.split('.')))

/** A rule that holds unless the issuer is this machine. */
export const inProduction = (keys: string | readonly string[], message: string, bad: Rule['bad']): Rule =>
  rule(keys, `${message} when the issuer is not localhost`, (c, env) => isProduction(c) && bad(c, env))

/** Whether the issuer is not this machine. Then settings that are only for development are refused. */
export const isProduction = (config: Config): boolean => !isLocalhost(config.server.issuer)

const WEAK_SECRETS = /^(changeme|change-me|secret|password|admin|test|default|example)/i
/** Whether a secret was not generated at random: even 16 random hex digits have fewer than 5 different ones only once in two million times. */
export const isWeak = (secret: string) => secret !== '' && (WEAK_SECRETS.test(secret) || new Set(secret).size < 5)
