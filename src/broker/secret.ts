// Secrets of providers. A record names an environment variable, whose value, or the file that NAME_FILE names, is read at each use and never stored.

import { secretVariable } from '../config/env.ts'
import { SECRET_REF } from '../config/provider_record.ts'
import type { App } from '../context.ts'
import { misconfigured } from './provider.ts'

/** The value of a secret variable. Throws server_error when the variable is empty, or its name is not allowed for secrets. */
export function secretOf({ env }: App, name: string): string {
  if (SECRET_REF.test(name)) {
    const secret = readSecret(env, name)
    if (secret) return secret
  }
  throw misconfigured(
    'secret_missing',
    new Error(`the variable ${name} is not set, or its name is not allowed for secrets of providers`),
  )
}

function readSecret(env: App['env'], name: string): string | undefined {
  try {
    return secretVariable(env, name)
  } catch (error) {
    throw misconfigured('secret_missing', error as Error)
  }
}
