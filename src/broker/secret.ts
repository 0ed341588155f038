// Secrets of providers. A record names an environment variable; its value is read at each use and never stored.

import { SECRET_REF } from '../config/provider_record.ts'
import type { App } from '../context.ts'
import { misconfigured } from './provider.ts'

/** The value of a secret variable. Throws server_error when the variable is empty, or its name is not allowed for secrets. */
export function secretOf({ env }: App, name: string): string {
  const secret = SECRET_REF.test(name) ? env[name] : undefined
  if (secret) return secret
  throw misconfigured(
    'secret_missing',
    new Error(`the variable ${name} is not set, or its name is not allowed for secrets of providers`),
  )
}
