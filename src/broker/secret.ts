// Secrets of providers: records name a variable, whose value is read each time it is used and kept nowhere.

import { SECRET_REF } from '../config/provider_record.ts'
import type { App } from '../context.ts'
import { notSetUp } from './provider.ts'

/** The secret that a name stands for. Throws server_error when the variable is empty, or its name is not one for secrets. */
export function secretOf({ env }: App, name: string): string {
  const secret = SECRET_REF.test(name) ? env[name] : undefined
  if (secret) return secret
  throw notSetUp('secret_missing', new Error(`the variable ${name} is not set, or not one for secrets of providers`))
}
